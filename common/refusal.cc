#include "common/refusal.h"

#include <fmt/format.h>

namespace caravan {
namespace {

const char* advice_for(const std::error_code& code) {
  if (code == std::errc::resource_unavailable_try_again)
    return "raise the limit of processes and threads (pids.max of the pod or session, ulimit -u)";
  if (code == std::errc::too_many_files_open || code == std::errc::too_many_files_open_in_system)
    return "raise the limit of open files (ulimit -n)";
  return "see what this machine, user or pod may take of it";
}

}  // namespace

tl::unexpected<Error> refusal(const std::system_error& error) {
  return failure(fmt::format("the system refused: {}; {}", error.what(), advice_for(error.code())));
}

tl::unexpected<Error> refusal(const std::bad_alloc&) {
  return failure("the system refused: no memory is left; give this machine, user or pod more of it");
}

}  // namespace caravan
