#include "cli/run/checkpoint_lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstring>
#include <filesystem>

#include "common/utf8.h"

namespace caravan::cli {
namespace {

constexpr char kLockFile[] = "run.lock";

std::string host_name() {
  std::array<char, HOST_NAME_MAX + 1> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

// For people, who are shown it while the file is locked.
void write_holder(int file, const std::string& job_name) {
  const std::string text = fmt::format("job {}, process {} on {}", job_name, getpid(), host_name());
  if (ftruncate(file, 0) == 0) (void)!pwrite(file, text.data(), text.size(), 0);
}

std::string read_holder(int file) {
  std::array<char, 512> text{};
  const ssize_t length = pread(file, text.data(), text.size(), 0);
  if (length <= 0) return "it does not say who";
  return readable({text.data(), static_cast<std::size_t>(length)}, text.size());
}

// The file of somebody else may be there to be read only, which is enough for a lock but on NFS.
UniqueFd open_lock_file(const std::string& path) {
  constexpr int kFlags = O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
  UniqueFd file(open(path.c_str(), O_RDWR | O_CREAT | kFlags, 0666));
  if (file) return file;
  const int error = errno;
  file.reset(open(path.c_str(), O_RDONLY | kFlags));
  if (!file) errno = error;
  return file;
}

}  // namespace

Result<CheckpointLock> CheckpointLock::take(const std::string& folder, const std::string& job_name) {
  if (folder.empty()) return CheckpointLock(UniqueFd());
  std::error_code ignored;  // a folder that cannot be made is the ranks' to tell
  std::filesystem::create_directories(folder, ignored);
  const std::string path = (std::filesystem::path(folder) / kLockFile).string();
  UniqueFd file = open_lock_file(path);
  if (!file) return none(folder, errno);
  if (flock(file.get(), LOCK_EX | LOCK_NB) == 0) {
    write_holder(file.get(), job_name);
    return CheckpointLock(std::move(file));
  }
  if (errno != EWOULDBLOCK) return none(folder, errno);
  return bad_input(fmt::format(
      "spec.checkpoint.path: another run trains in '{}': {}; wait for its end or end it, or give this job "
      "its own spec.checkpoint.path",
      folder, read_holder(file.get())));
}

CheckpointLock CheckpointLock::none(const std::string& folder, int error) {
  return CheckpointLock(
      UniqueFd(),
      fmt::format("spec.checkpoint.path: '{}' cannot be locked: {}; see that no other run trains there",
                  folder, std::strerror(error)));
}

}  // namespace caravan::cli
