#include "common/environment.h"

#include <cstdlib>

namespace caravan {

std::string environment_variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

void silence_grpc() {
  setenv("GRPC_VERBOSITY", "NONE", /*overwrite=*/0);
}

}  // namespace caravan
