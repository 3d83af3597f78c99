#include "common/file_contents.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>

namespace caravan {
namespace {

// Of whoever gave the path; all else is the machine's.
bool is_wrong_path(int error) {
  switch (error) {
    case ENOENT:
    case ENOTDIR:
    case EISDIR:
    case ENXIO:
    case ELOOP:
    case ENAMETOOLONG:
    case EINVAL:
    case EACCES:
    case EPERM:
      return true;
    default:
      return false;
  }
}

tl::unexpected<Error> cannot_read(const std::string& path, int error) {
  const std::string message = fmt::format("cannot read {}: {}", path, std::strerror(error));
  return is_wrong_path(error) ? bad_input(message) : failure(message);
}

}  // namespace

Result<std::string> file_contents(const std::string& path) {
  return file_beginning(path, std::string::npos);
}

Result<std::string> file_beginning(const std::string& path, std::size_t most_bytes) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return cannot_read(path, errno);
  errno = 0;
  std::string text;
  for (char block[4096]; file && text.size() < most_bytes;) {
    file.read(block, static_cast<std::streamsize>(std::min(sizeof block, most_bytes - text.size())));
    text.append(block, static_cast<std::size_t>(file.gcount()));
  }
  if (file.bad()) return cannot_read(path, errno);
  return text;
}

}  // namespace caravan
