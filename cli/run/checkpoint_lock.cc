#include "cli/run/checkpoint_lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <filesystem>

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
  return length > 0 ? std::string(text.data(), static_cast<std::size_t>(length)) : "it does not say who";
}

}  // namespace

Result<CheckpointLock> CheckpointLock::take(const std::string& folder, const std::string& job_name) {
  if (folder.empty()) return CheckpointLock(UniqueFd());
  std::error_code ignored;  // a folder that cannot be made is the ranks' to tell
  std::filesystem::create_directories(folder, ignored);
  const std::string path = (std::filesystem::path(folder) / kLockFile).string();
  UniqueFd file(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666));
  if (!file) return CheckpointLock(UniqueFd());
  if (flock(file.get(), LOCK_EX | LOCK_NB) == 0) {
    write_holder(file.get(), job_name);
  } else if (errno == EWOULDBLOCK) {
    return bad_input(fmt::format(
        "spec.checkpoint.path: another run trains in '{}': {}; wait for its end or end it, or give this job "
        "its own spec.checkpoint.path",
        folder, read_holder(file.get())));
  }
  return CheckpointLock(std::move(file));
}

}  // namespace caravan::cli
