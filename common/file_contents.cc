#include "common/file_contents.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "common/readable_bytes.h"

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

Result<std::string> file_within(const std::string& path, std::size_t most_bytes) {
  std::error_code ignored;
  const auto kind = std::filesystem::status(path, ignored);
  const bool is_file = std::filesystem::is_regular_file(kind);
  if (!is_file && std::filesystem::is_other(kind))
    return bad_input(fmt::format("cannot read {}: it is a pipe or a device, not a file", path));
  const std::uintmax_t size = is_file ? std::filesystem::file_size(path, ignored) : 0;
  if (size > most_bytes && !ignored)
    return bad_input(fmt::format("cannot read {}: it is larger than {}", path, readable_bytes(most_bytes)));
  return file_beginning(path, most_bytes);
}

}  // namespace caravan
