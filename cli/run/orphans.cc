#include "cli/run/orphans.h"

#include <sys/prctl.h>
#include <sys/wait.h>

#include <csignal>
#include <filesystem>
#include <fstream>

namespace caravan::cli {
namespace {

// The kernel lists children by the thread that started or adopted them.
std::set<pid_t> children() {
  std::set<pid_t> found;
  std::error_code error;
  for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task", error)) {
    std::ifstream list(thread.path() / "children");
    for (pid_t child = 0; list >> child;) found.insert(child);
  }
  return found;
}

}  // namespace

Orphans::Orphans() : there_before_(children()) {
  prctl(PR_SET_CHILD_SUBREAPER, 1);
}

// A child that ends may leave children of its own, hence the loop. One that was there before keeps its number
// for as long as nobody reaps it.
void Orphans::end() const {
  for (bool found = true; found;) {
    found = false;
    for (const pid_t child : children()) {
      if (there_before_.contains(child)) continue;
      kill(child, SIGKILL);
      found = waitpid(child, nullptr, 0) == child || found;
    }
  }
}

}  // namespace caravan::cli
