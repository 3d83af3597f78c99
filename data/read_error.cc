#include "data/read_error.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>

namespace caravan::data {
namespace {

const char* advice_for(int error) {
  switch (error) {
    case ENOENT:
    case ENOTDIR:
      return "check the path, and whether the volume that holds it is mounted";
    case EACCES:
    case EPERM:
      return "give this user the right to read it";
    case EISDIR:
    case ELOOP:
    case ENAMETOOLONG:
    case EINVAL:
    case EOVERFLOW:
      return "check the path and the file";
    case EMFILE:
      return "raise the limit of open files (ulimit -n)";
    default:
      return "check this machine's disk and the volume that holds it";
  }
}

}  // namespace

tl::unexpected<Error> read_error(const std::string& what, int system_error) {
  return failure(fmt::format("{}: {}; {}", what, std::strerror(system_error), advice_for(system_error)));
}

}  // namespace caravan::data
