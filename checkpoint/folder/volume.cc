#include "checkpoint/folder/volume.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <deque>
#include <filesystem>

#include "common/unique_fd.h"

namespace caravan::checkpoint {
namespace {

enum class Access { Read, Write };

const char* advice_for(int error, Access access) {
  switch (error) {
    case ENOSPC:
    case EDQUOT:
      return "; make room on the volume";
    case EFBIG:
      return "; use a file system that takes larger files";
    case EACCES:
    case EPERM:
      return access == Access::Read ? "; give this user the right to read it"
                                    : "; give this user the right to write there";
    case EROFS:
      return "; the volume is mounted read-only: mount it for writing, or give another folder";
    case EMFILE:
      return "; raise the limit of open files (ulimit -n)";
    case ENOSYS:
      return "; openat2 is needed: Linux 5.6, and a sandbox that allows it";
    case EIO:
    case ESTALE:
      return "; check the volume and this machine's disk";
    default:
      return "";
  }
}

// What stands in the folder is wrong, not the machine.
bool is_content(int error) {
  return error == ENOENT || error == ELOOP || error == EXDEV || error == ENOTDIR || error == EISDIR ||
         error == EINVAL;
}

tl::unexpected<Error> cannot(std::string_view what, const std::string& path, int error,
                             Access access = Access::Write, Links links = Links::Refused) {
  const bool is_link = links == Links::Refused && (error == ELOOP || error == EXDEV);
  const std::string message =
      fmt::format("{}: cannot {}: {}{}{}", path, what, std::strerror(error),
                  is_link ? " (links are not followed)" : "", advice_for(error, access));
  return is_content(error) ? bad_input(message) : failure(message);
}

tl::unexpected<Error> cannot_read(std::string_view what, const std::string& path, int error,
                                  Links links = Links::Refused) {
  return cannot(what, path, error, Access::Read, links);
}

constexpr uint64_t kNoLinks = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
// Links of /proc lead to what a path does not name.
constexpr uint64_t kWithLinks = RESOLVE_NO_MAGICLINKS;

UniqueFd open_beneath(SystemCalls& calls, int folder, const std::string& path, int flags,
                      uint64_t resolve = kNoLinks) {
  open_how how{};
  how.flags = static_cast<uint64_t>(flags | O_CLOEXEC);
  how.mode = (flags & O_CREAT) != 0 ? 0666 : 0;
  how.resolve = resolve;
  const char* name = path.empty() ? "." : path.c_str();
  int fd = -1;
  do {
    fd = calls.open(folder, name, how);
  } while (fd < 0 && (errno == EINTR || errno == EAGAIN));
  return UniqueFd(fd);
}

// What goes to the disk early, before sync() asks for all of it: the disk works while the next bytes are
// prepared, and what it has taken leaves the page cache, so that a checkpoint does not fill the memory that
// training, its data and the pod's limit need. So the same few pages are filled again and again.
//
// Whole pages only, and of large writes only: the neighbours of small ones are other ranks', which would have
// a page written again. A file system that does not know this has all done by sync().
class EarlyWrites {
 public:
  explicit EarlyWrites(SystemCalls& calls) : calls_(calls) {}

  // 0, or the error that the disk had.
  int add(int file, int64_t offset, int64_t bytes) {
    if (bytes < kLeastBytes || is_unknown_) return 0;
    const int64_t begin = (offset + kPage - 1) / kPage * kPage;
    const Range range = {begin, (offset + bytes) / kPage * kPage - begin};
    // An error of the disk may be told once: here, when it is waited for, or by sync().
    if (calls_.sync_range(file, range.offset, range.bytes, SYNC_FILE_RANGE_WRITE) != 0) {
      is_unknown_ = is_unknown_call(errno);
      return is_unknown_ || errno == EINTR ? 0 : errno;
    }
    under_way_.push_back(range);
    bytes_under_way_ += range.bytes;
    while (bytes_under_way_ > kMostUnderWay)
      if (const int error = wait_for_first(file); error != 0) return error;
    return 0;
  }

  // All is on disk.
  void done(int file) {
    for (const Range& range : under_way_) leave_cache(file, range);
    under_way_.clear();
    bytes_under_way_ = 0;
  }

 private:
  struct Range {
    int64_t offset = 0;
    int64_t bytes = 0;
  };
  static constexpr int64_t kPage = 4096;
  static constexpr int64_t kLeastBytes = int64_t{1} << 20;
  static constexpr int64_t kMostUnderWay = int64_t{64} << 20;  // keeps a disk of several GB/s at work

  // To the file system or to what filters the process's calls.
  static bool is_unknown_call(int error) {
    return error == ENOSYS || error == EINVAL || error == EOPNOTSUPP || error == ESPIPE || error == EPERM;
  }

  int wait_for_first(int file) {
    const Range range = under_way_.front();
    under_way_.pop_front();
    bytes_under_way_ -= range.bytes;
    constexpr unsigned kWait =
        SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER;
    while (calls_.sync_range(file, range.offset, range.bytes, kWait) != 0)
      if (errno != EINTR) return errno;
    leave_cache(file, range);
    return 0;
  }

  void leave_cache(int file, const Range& range) {
    (void)calls_.forget_range(file, range.offset, range.bytes);  // advice
  }

  SystemCalls& calls_;
  std::deque<Range> under_way_;
  int64_t bytes_under_way_ = 0;
  bool is_unknown_ = false;
};

class LinuxOutputFile final : public OutputFile {
 public:
  LinuxOutputFile(SystemCalls& calls, UniqueFd file, std::string path)
      : calls_(calls), file_(std::move(file)), path_(std::move(path)), early_(calls) {}

  Status write(int64_t offset, std::span<const std::byte> bytes) override {
    const int64_t begin = offset;
    while (!bytes.empty()) {
      const ssize_t count = calls_.write(file_.get(), bytes.data(), bytes.size(), offset);
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return cannot("write", path_, errno);
      offset += count;
      bytes = bytes.subspan(static_cast<std::size_t>(count));
    }
    const int error = early_.add(file_.get(), begin, offset - begin);
    return error == 0 ? Status{} : cannot("write", path_, error);
  }

  Status resize(int64_t length) override {
    while (calls_.resize(file_.get(), length) != 0)
      if (errno != EINTR) return cannot("resize", path_, errno);
    return {};
  }

  Status sync() override {
    if (calls_.sync(file_.get()) != 0) return cannot("write", path_, errno);
    early_.done(file_.get());
    return {};
  }

 private:
  SystemCalls& calls_;
  UniqueFd file_;
  std::string path_;
  EarlyWrites early_;
};

class LinuxInputFile final : public InputFile {
 public:
  LinuxInputFile(SystemCalls& calls, UniqueFd file, std::string path, int64_t size)
      : calls_(calls), file_(std::move(file)), path_(std::move(path)), size_(size) {}

  int64_t size() const override { return size_; }

  Status read(int64_t offset, std::span<std::byte> bytes) const override {
    while (!bytes.empty()) {
      const ssize_t count = calls_.read(file_.get(), bytes.data(), bytes.size(), offset);
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return cannot_read(fmt::format("read at byte {}", offset), path_, errno);
      if (count == 0) return bad_input(fmt::format("{}: ends at byte {}", path_, offset));
      offset += count;
      bytes = bytes.subspan(static_cast<std::size_t>(count));
    }
    return {};
  }

  void forget(int64_t offset, int64_t bytes) const override {
    (void)calls_.forget_range(file_.get(), offset, bytes);
  }

 private:
  SystemCalls& calls_;
  UniqueFd file_;
  std::string path_;
  int64_t size_;
};

struct CloseFolder {
  void operator()(DIR* folder) const { ::closedir(folder); }
};

class LinuxVolume final : public Volume {
 public:
  LinuxVolume(SystemCalls& calls, UniqueFd root, std::string path, Links links)
      : calls_(calls), root_(std::move(root)), path_(std::move(path)), links_(links) {}

  std::string shown(const std::string& path) const override {
    return path.empty() || path == "." ? path_ : (std::filesystem::path(path_) / path).string();
  }

  Result<std::vector<std::string>> names(const std::string& folder) const override {
    UniqueFd fd = open_beneath(calls_, root_.get(), folder, O_RDONLY | O_DIRECTORY);
    if (!fd) return cannot_read("open", shown(folder), errno);
    const std::unique_ptr<DIR, CloseFolder> stream(::fdopendir(fd.get()));
    if (!stream) return cannot_read("list", shown(folder), errno);
    (void)fd.release();  // the stream closes it
    std::vector<std::string> names;
    while (const dirent* entry = calls_.list(stream.get())) {
      const std::string name = entry->d_name;
      if (name != "." && name != "..") names.push_back(name);
    }
    if (errno != 0) return cannot_read("list", shown(folder), errno);
    std::sort(names.begin(), names.end());
    return names;
  }

  Result<std::unique_ptr<InputFile>> open_input(const std::string& path) const override {
    // O_NONBLOCK: a named pipe must not wait for its writer before it is refused below.
    const bool follows = links_ == Links::Followed;
    UniqueFd file =
        open_beneath(calls_, root_.get(), path, O_RDONLY | O_NONBLOCK, follows ? kWithLinks : kNoLinks);
    struct stat status {};
    if (!file || calls_.status(file.get(), status) != 0)
      return cannot_read("open", shown(path), errno, links_);
    if (!S_ISREG(status.st_mode)) return bad_input(fmt::format("{}: not a regular file", shown(path)));
    return std::make_unique<LinuxInputFile>(calls_, std::move(file), shown(path), status.st_size);
  }

  Result<std::unique_ptr<OutputFile>> open_output(const std::string& path) override {
    UniqueFd file = open_beneath(calls_, root_.get(), path, O_WRONLY | O_CREAT | O_NONBLOCK);
    if (!file) return cannot("create", shown(path), errno);
    return std::make_unique<LinuxOutputFile>(calls_, std::move(file), shown(path));
  }

  Status make_folder(const std::string& path) override {
    const Result<Entry> entry = parent_of(path);
    if (!entry) return tl::unexpected(entry.error());
    if (calls_.make_folder(entry->parent.get(), entry->name.c_str()) == 0) return {};
    return cannot("make the folder", shown(path), errno);
  }

  Status sync_folder(const std::string& path) override {
    const UniqueFd folder = open_beneath(calls_, root_.get(), path, O_RDONLY | O_DIRECTORY);
    const bool is_synced = folder && (calls_.sync(folder.get()) == 0 || errno == EINVAL);
    return is_synced ? Status{} : cannot("write", shown(path), errno);
  }

  Status rename(const std::string& from, const std::string& to) override {
    const Result<Entry> source = parent_of(from);
    if (!source) return tl::unexpected(source.error());
    const Result<Entry> target = parent_of(to);
    if (!target) return tl::unexpected(target.error());
    if (rename_to_a_new_name(*source, *target)) return {};
    return cannot(fmt::format("give it the name {}", to), shown(from), errno);
  }

  Status remove_file(const std::string& path) override {
    const Result<Entry> entry = parent_of(path);
    if (!entry) return tl::unexpected(entry.error());
    return remove(*entry, path, 0);
  }

  Status remove_empty_folder(const std::string& path) override {
    const Result<Entry> entry = parent_of(path);
    if (!entry) return tl::unexpected(entry.error());
    return remove(*entry, path, AT_REMOVEDIR);
  }

 private:
  struct Entry {
    UniqueFd parent;
    std::string name;
  };

  Status remove(const Entry& entry, const std::string& path, int flags) {
    if (calls_.remove(entry.parent.get(), entry.name.c_str(), flags) == 0 || errno == ENOENT) return {};
    return cannot("remove", shown(path), errno);
  }

  // File systems of several machines, such as NFS, do not know the flag. There a folder with files in it
  // cannot be replaced either, and a job's checkpoints have one writer.
  bool rename_to_a_new_name(const Entry& source, const Entry& target) {
    const auto rename = [&](unsigned flags) {
      return calls_.rename(source.parent.get(), source.name.c_str(), target.parent.get(), target.name.c_str(),
                           flags) == 0;
    };
    if (rename(RENAME_NOREPLACE)) return true;
    if (errno != EINVAL && errno != ENOSYS && errno != EOPNOTSUPP) return false;
    struct stat status {};
    if (calls_.status_at(target.parent.get(), target.name.c_str(), status) == 0) {
      errno = EEXIST;
      return false;
    }
    return errno == ENOENT && rename(0);
  }

  // The folder that holds the path's last name: what has no flag against links works on that name alone.
  Result<Entry> parent_of(const std::string& path) const {
    const std::size_t slash = path.rfind('/');
    const std::string parent = slash == std::string::npos ? "" : path.substr(0, slash);
    std::string name = slash == std::string::npos ? path : path.substr(slash + 1);
    if (name.empty() || name == "." || name == "..")
      return bad_input(fmt::format("{}: no name of a file", shown(path)));
    UniqueFd folder = open_beneath(calls_, root_.get(), parent, O_RDONLY | O_DIRECTORY);
    if (!folder) return cannot_read("open", shown(parent), errno);
    return Entry{std::move(folder), std::move(name)};
  }

  SystemCalls& calls_;
  UniqueFd root_;
  std::string path_;
  Links links_;
};

}  // namespace

Result<std::unique_ptr<Volume>> open_volume(const std::string& path, Links links, SystemCalls& calls) {
  UniqueFd root(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!root) return cannot_read("open", path, errno, Links::Followed);
  return std::make_unique<LinuxVolume>(calls, std::move(root), path, links);
}

Result<std::unique_ptr<Volume>> make_volume(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) return cannot("make the folder", path, error.value());
  return open_volume(path);
}

Status Volume::remove_folder(const std::string& path) {
  const Result<std::vector<std::string>> files = names(path);
  if (!files) return tl::unexpected(files.error());
  Status all;
  for (const std::string& file : *files)
    if (Status removed = remove_file(fmt::format("{}/{}", path, file)); !removed && all) all = removed;
  return all ? remove_empty_folder(path) : all;
}

Result<std::string> read_text(const Volume& volume, const std::string& path, int64_t most_bytes) {
  const Result<std::unique_ptr<InputFile>> file = volume.open_input(path);
  if (!file) return tl::unexpected(file.error());
  if ((*file)->size() > most_bytes) {
    return bad_input(fmt::format("{}: has {} bytes, there may be {} at most", volume.shown(path),
                                 (*file)->size(), most_bytes));
  }
  std::string text(static_cast<std::size_t>((*file)->size()), '\0');
  return (*file)->read(0, std::as_writable_bytes(std::span(text))).map([&] { return std::move(text); });
}

Status write_text(Volume& volume, const std::string& path, const std::string& text) {
  const Result<std::unique_ptr<OutputFile>> file = volume.open_output(path);
  if (!file) return tl::unexpected(file.error());
  if (Status written = (*file)->write(0, std::as_bytes(std::span(text))); !written) return written;
  return (*file)->sync();
}

}  // namespace caravan::checkpoint
