#include "data/read_error.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>

namespace caravan::data {
namespace {

const char* advice_for(int error) {
  switch (error) {
    case ENOENT:
      return "check the path";
    case EACCES:
      return "give this user the right to read it";
    case EMFILE:
      return "raise the limit of open files (ulimit -n)";
    default:
      return is_fault_of_input(error) ? "check the path and the file"
                                      : "check this machine's disk and the volume that holds it";
  }
}

}  // namespace

bool is_fault_of_input(int system_error) {
  switch (system_error) {
    case ENOENT:
    case ENOTDIR:
    case EISDIR:
    case EACCES:
    case EPERM:
    case ELOOP:
    case ENAMETOOLONG:
    case EINVAL:
    case EOVERFLOW:
      return true;
    default:
      return false;
  }
}

tl::unexpected<Error> read_error(const std::string& what, int system_error) {
  const std::string message =
      fmt::format("{}: {}; {}", what, std::strerror(system_error), advice_for(system_error));
  return is_fault_of_input(system_error) ? bad_input(message) : failure(message);
}

}  // namespace caravan::data
