#include "data/temporary_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "common/random_hex.h"

namespace caravan::data {
namespace {

namespace fs = std::filesystem;

tl::unexpected<Error> cannot(std::string_view what, const std::string& path, int error) {
  const std::string_view advice =
      error == ENOSPC || error == EDQUOT || error == EFBIG ? "; make room for it; nothing was written" : "";
  return failure(fmt::format("{}: cannot {}: {}{}", path, what, std::strerror(error), advice));
}

}  // namespace

Result<TemporaryFile> TemporaryFile::create(const std::string& path, bool replace) {
  std::error_code ignored;
  // Renaming over a device would remove it.
  if (fs::exists(path, ignored) && !fs::is_regular_file(path, ignored)) {
    return bad_input(fmt::format("{}: is a folder or a device; give the name of a file", path));
  }
  if (!replace && fs::exists(path, ignored)) {
    return bad_input(fmt::format("{}: exists already; give --force to replace it, or another name", path));
  }
  const fs::path target(path);
  const std::string hidden =
      target.parent_path() / fmt::format(".{}.{}.partial", target.filename().string(), random_hex(64));
  UniqueFd descriptor(::open(hidden.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (!descriptor) {
    return bad_input(
        fmt::format("{}: cannot create: {}; give a place in a folder that exists and may be written", path,
                    std::strerror(errno)));
  }
  return TemporaryFile(path, hidden, std::move(descriptor));
}

TemporaryFile::~TemporaryFile() {
  if (descriptor_) ::unlink(hidden_path_.c_str());
}

Status TemporaryFile::write(int64_t offset, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::pwrite(descriptor_.get(), bytes.data(), bytes.size(), offset);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return cannot("write", path_, errno);
    offset += count;
    bytes = bytes.subspan(static_cast<size_t>(count));
  }
  return {};
}

Status TemporaryFile::read(int64_t offset, std::span<std::byte> bytes) const {
  while (!bytes.empty()) {
    const ssize_t count = ::pread(descriptor_.get(), bytes.data(), bytes.size(), offset);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return cannot("read back", path_, count < 0 ? errno : EIO);
    offset += count;
    bytes = bytes.subspan(static_cast<size_t>(count));
  }
  return {};
}

Status TemporaryFile::resize(int64_t size) {
  return ::ftruncate(descriptor_.get(), size) == 0 ? Status{} : cannot("resize", path_, errno);
}

Status TemporaryFile::sync() {
  return ::fsync(descriptor_.get()) == 0 ? Status{} : cannot("write", path_, errno);
}

Status TemporaryFile::commit() {
  if (Status synced = sync(); !synced) return synced;
  if (std::rename(hidden_path_.c_str(), path_.c_str()) != 0)
    return cannot("give the file its name", path_, errno);
  descriptor_.reset();
  return {};
}

}  // namespace caravan::data
