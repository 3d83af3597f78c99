#include "cli/run/orphans.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

namespace caravan::cli {
namespace {

pid_t start_child(bool with_orphan = false) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  const bool leaves_an_orphan = with_orphan && ::fork() != 0;
  if (leaves_an_orphan) ::_exit(0);
  while (true) ::pause();
}

TEST(Orphans, EndsWhatCameSinceAndNothingElse) {
  const pid_t before = start_child();
  const Orphans orphans;
  const pid_t since = start_child();
  start_child(/*with_orphan=*/true);
  orphans.end();
  EXPECT_EQ(::waitpid(since, nullptr, WNOHANG), -1) << "it is reaped";
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), 0) << "one child is left, and it lives";
  EXPECT_EQ(::waitpid(before, nullptr, WNOHANG), 0);
  ::kill(before, SIGKILL);
  EXPECT_EQ(::waitpid(before, nullptr, 0), before);
}

TEST(Orphans, DoNotWaitForAChildThatWasThereBeforeAndEndedSince) {
  const pid_t before = start_child();
  const Orphans orphans;
  ::kill(before, SIGKILL);
  orphans.end();
  EXPECT_EQ(::waitpid(before, nullptr, 0), before);
}

}  // namespace
}  // namespace caravan::cli
