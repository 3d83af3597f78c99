#include "data/temporary_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
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
      error == ENOSPC || error == EDQUOT || error == EFBIG ? "; make room for it" : "";
  return failure(fmt::format("{}: cannot {}: {}{}", path, what, std::strerror(error), advice));
}

tl::unexpected<Error> exists_already(const std::string& path) {
  return bad_input(fmt::format("{}: exists already; give --force to replace it, or another name", path));
}

// File systems of several machines, such as NFS, do not know the flag.
bool rename_to_a_new_name(const std::string& from, const std::string& to) {
  if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) return true;
  if (errno != EINVAL && errno != ENOSYS && errno != EOPNOTSUPP) return false;
  struct stat status {};
  if (::lstat(to.c_str(), &status) == 0) {
    errno = EEXIST;
    return false;
  }
  return errno == ENOENT && std::rename(from.c_str(), to.c_str()) == 0;
}

// Makes the names in it durable, where it may be read and its file system does such a thing.
bool sync_folder_of(const std::string& path) {
  const fs::path parent = fs::path(path).parent_path();
  const UniqueFd folder(::open(parent.empty() ? "." : parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  return (folder && ::fsync(folder.get()) == 0) || errno == EACCES || errno == EINVAL;
}

}  // namespace

Result<TemporaryFile> TemporaryFile::create(const std::string& path, bool replace) {
  std::error_code ignored;
  // Renaming over a device would remove it.
  if (fs::exists(path, ignored) && !fs::is_regular_file(path, ignored)) {
    return bad_input(fmt::format("{}: is a folder or a device; give the name of a file", path));
  }
  if (!replace && fs::exists(fs::symlink_status(path, ignored))) return exists_already(path);
  const fs::path target(path);
  const std::string hidden =
      target.parent_path() / fmt::format(".{}.{}.partial", target.filename().string(), random_hex(64));
  UniqueFd descriptor(::open(hidden.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (!descriptor) {
    return bad_input(
        fmt::format("{}: cannot create: {}; give a place in a folder that exists and may be written", path,
                    std::strerror(errno)));
  }
  return TemporaryFile(path, hidden, std::move(descriptor), replace);
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
  return sync().and_then([this] { return give_name(); }).and_then([this] { return sync_name(); });
}

Status TemporaryFile::give_name() {
  const bool is_named = replace_ ? std::rename(hidden_path_.c_str(), path_.c_str()) == 0
                                 : rename_to_a_new_name(hidden_path_, path_);
  if (!is_named)
    return errno == EEXIST ? exists_already(path_) : cannot("give the file its name", path_, errno);
  descriptor_.reset();
  return {};
}

Status TemporaryFile::sync_name() const {
  if (sync_folder_of(path_)) return {};
  return failure(fmt::format(
      "{}: the file is complete and has its name, which cannot be made durable: {}; check the disk", path_,
      std::strerror(errno)));
}

}  // namespace caravan::data
