#include "common/environment.h"

#include <cstdlib>

namespace caravan {

std::string environment_variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

void set_up_grpc() {
  setenv("GRPC_VERBOSITY", "NONE", /*overwrite=*/0);
  setenv("GRPC_CLIENT_CHANNEL_BACKUP_POLL_INTERVAL_MS", "100", /*overwrite=*/0);
}

}  // namespace caravan
