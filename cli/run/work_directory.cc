#include "cli/run/work_directory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/un.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "cli/run/output_folders.h"

namespace caravan::cli {
namespace {

namespace fs = std::filesystem;

// A socket's address holds its whole path and a zero; this is our longest name.
constexpr std::size_t kLongestPath = sizeof(sockaddr_un::sun_path) - sizeof("/coordinator.sock");

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
  Result<fs::path> folder = temporary ? create_temporary() : make_work_folder(path);
  if (!folder) return tl::unexpected(folder.error());
  Result<UniqueFd> locked = lock(*folder);
  if (!locked) return tl::unexpected(locked.error());
  if (!temporary)
    if (Status tried = try_work_folder(path, *folder); !tried) return tl::unexpected(tried.error());
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
