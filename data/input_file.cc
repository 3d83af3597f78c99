#include "data/input_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "data/read_error.h"

namespace caravan::data {
Result<InputFile> InputFile::open(const std::string& path) {
  // O_NONBLOCK: opening a named pipe must not wait for its writer before it is refused below.
  UniqueFd descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status {};
  if (!descriptor || ::fstat(descriptor.get(), &status) != 0)
    return read_error(fmt::format("{}: cannot open", path), errno);
  if (!S_ISREG(status.st_mode))
    return bad_input(fmt::format("{}: not a regular file; give the path of one", path));
  return InputFile(path, {.device = status.st_dev, .inode = status.st_ino}, std::move(descriptor),
                   status.st_size);
}

Status InputFile::read(int64_t offset, std::span<std::byte> output) const {
  while (!output.empty()) {
    const ssize_t count = ::pread(descriptor_.get(), output.data(), output.size(), offset);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return read_error(fmt::format("{}: cannot read at byte {}", path_, offset), errno);
    if (count == 0) {
      return failure(
          fmt::format("{}: ends at byte {}, but had {} bytes when it was opened; it must not change while a "
                      "job reads it",
                      path_, offset, size_));
    }
    offset += count;
    output = output.subspan(static_cast<size_t>(count));
  }
  return {};
}

Result<std::string> InputFile::text() const {
  std::string text(static_cast<size_t>(size_), '\0');
  return read(0, std::as_writable_bytes(std::span(text))).map([&] { return std::move(text); });
}

}  // namespace caravan::data
