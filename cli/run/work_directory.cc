#include "cli/run/work_directory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/un.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace caravan::cli {
namespace {

namespace fs = std::filesystem;

// A socket's address holds its whole path and a zero; this is our longest name.
constexpr std::size_t kLongestPath = sizeof(sockaddr_un::sun_path) - sizeof("/coordinator.sock");

Result<fs::path> create_given(const std::string& given) {
  std::error_code error;
  const fs::path path = fs::absolute(given, error).lexically_normal();
  if (error) return bad_input(fmt::format("--work-directory: '{}': {}", given, error.message()));
  const bool created = fs::create_directories(path, error);
  if (created) fs::permissions(path, fs::perms::owner_all, error);
  if (error || !fs::is_directory(path)) {
    return bad_input(fmt::format("--work-directory: cannot use '{}' as a folder: {}", given,
                                 error ? error.message() : "it is something else"));
  }
  return path;
}

// Which only this user may enter.
Result<fs::path> create_temporary() {
  std::error_code error;
  std::string pattern = (fs::temp_directory_path(error) / "caravan-XXXXXX").string();
  if (error) return bad_input(fmt::format("TMPDIR: no folder for temporary files: {}", error.message()));
  if (pattern.size() > kLongestPath) {
    return bad_input(
        fmt::format("TMPDIR: '{}' has {} characters; sockets in it allow {} at most; give a shorter one",
                    pattern, pattern.size(), kLongestPath));
  }
  if (mkdtemp(pattern.data()) == nullptr)
    return bad_input(fmt::format("TMPDIR: cannot create the folder '{}': {}", pattern, std::strerror(errno)));
  return fs::path(pattern);
}

Result<UniqueFd> lock(const fs::path& path) {
  UniqueFd folder(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder && flock(folder.get(), LOCK_EX | LOCK_NB) == 0) return folder;
  if (errno == EWOULDBLOCK) {
    return bad_input(
        fmt::format("--work-directory: another run uses '{}'; give each run its own", path.string()));
  }
  return bad_input(
      fmt::format("--work-directory: cannot lock '{}': {}", path.string(), std::strerror(errno)));
}

}  // namespace

Result<WorkDirectory> WorkDirectory::create(const std::string& path) {
  const bool temporary = path.empty();
  Result<fs::path> folder = temporary ? create_temporary() : create_given(path);
  if (!folder) return tl::unexpected(folder.error());
  Result<UniqueFd> locked = lock(*folder);
  if (!locked) return tl::unexpected(locked.error());
  WorkDirectory made(std::move(*folder), std::move(*locked), temporary);
  Result<fs::path> sockets = create_temporary();
  if (!sockets) return tl::unexpected(sockets.error());
  made.sockets_ = std::move(*sockets);
  return made;
}

WorkDirectory::WorkDirectory(WorkDirectory&& other) noexcept
    : path_(std::move(other.path_)),
      lock_(std::move(other.lock_)),
      remove_(std::exchange(other.remove_, false)),
      sockets_(std::exchange(other.sockets_, {})) {}

WorkDirectory::~WorkDirectory() {
  std::error_code ignored;
  if (remove_) fs::remove_all(path_, ignored);
  if (!sockets_.empty()) fs::remove_all(sockets_, ignored);
}

}  // namespace caravan::cli
