#include "cli/run/orphans.h"

#include <sys/prctl.h>
#include <sys/wait.h>

#include <csignal>
#include <filesystem>
#include <fstream>

namespace caravan::cli {
namespace {

// The kernel lists children by the thread that started or adopted them.
void kill_children() {
  std::error_code error;
  for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task", error)) {
    std::ifstream children(thread.path() / "children");
    for (pid_t child = 0; children >> child;) kill(child, SIGKILL);
  }
}

}  // namespace

void adopt_orphans() {
  prctl(PR_SET_CHILD_SUBREAPER, 1);
}

// A child that ends may leave children of its own, hence the loop.
void end_all_children() {
  do {
    kill_children();
  } while (waitpid(-1, nullptr, 0) > 0);
}

}  // namespace caravan::cli
