#include "cli/run/checkpoint_lock.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "common/testing/temporary_folder.h"

namespace caravan::cli {
namespace {

using testing::HasSubstr;

TEST(CheckpointLock, ASecondRunIsToldWhoTrainsInTheFolder) {
  const test::TemporaryFolder folder;
  const std::string states = folder.path("all/states");
  {
    const auto first = CheckpointLock::take(states, "tiny");
    ASSERT_TRUE(first) << first.error().message;
    const auto second = CheckpointLock::take(states, "other");
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code, ExitCode::kBadInput);
    EXPECT_THAT(second.error().message, HasSubstr(fmt::format("job tiny, process {} on ", getpid())));
    EXPECT_THAT(second.error().message, HasSubstr("spec.checkpoint.path: another run trains in"));
    EXPECT_TRUE(CheckpointLock::take(folder.path("elsewhere"), "other"));
  }
  EXPECT_TRUE(CheckpointLock::take(states, "other")) << "the first one has ended";
}

TEST(CheckpointLock, GoesWithAProcessThatIsKilled) {
  const test::TemporaryFolder folder;
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t holder = fork();
  if (holder == 0) {
    const auto lock = CheckpointLock::take(folder.path("states"), "tiny");
    (void)!write(ready[1], lock ? "1" : "0", 1);
    pause();
    _exit(0);
  }
  close(ready[1]);
  char has_it = '0';
  ASSERT_EQ(read(ready[0], &has_it, 1), 1);
  ASSERT_EQ(has_it, '1');
  EXPECT_FALSE(CheckpointLock::take(folder.path("states"), "tiny"));
  ASSERT_EQ(kill(holder, SIGKILL), 0);
  ASSERT_EQ(waitpid(holder, nullptr, 0), holder);
  EXPECT_TRUE(CheckpointLock::take(folder.path("states"), "tiny"));
}

// What is wrong with the folder is told by the ranks, which write more into it than this.
TEST(CheckpointLock, AFolderThatTakesNoFileIsNoReasonToStopHere) {
  const test::TemporaryFolder folder;
  const auto none = CheckpointLock::take(folder.write("file", "") + "/below", "tiny");
  ASSERT_TRUE(none);
  EXPECT_THAT(none->notice(),
              HasSubstr("file/below' cannot be locked: Not a directory; see that no other run"));
  const auto unneeded = CheckpointLock::take("", "tiny");
  ASSERT_TRUE(unneeded) << "a job without checkpoints";
  EXPECT_EQ(unneeded->notice(), "");
}

// A file that another user has made.
TEST(CheckpointLock, AFileThatMayOnlyBeReadIsLockedAllTheSame) {
  if (geteuid() == 0) GTEST_SKIP() << "root may write everything";
  const test::TemporaryFolder folder;
  chmod(folder.write("states/run.lock", "").c_str(), 0444);
  const auto first = CheckpointLock::take(folder.path("states"), "tiny");
  ASSERT_TRUE(first);
  EXPECT_EQ(first->notice(), "");
  EXPECT_FALSE(CheckpointLock::take(folder.path("states"), "other"));
}

TEST(CheckpointLock, WhatTheFileSaysIsMadeReadable) {
  const test::TemporaryFolder folder;
  const auto first = CheckpointLock::take(folder.path("states"), "tiny");
  ASSERT_TRUE(first);
  folder.write("states/run.lock", "job \x1B[2Jother");
  const auto second = CheckpointLock::take(folder.path("states"), "other");
  ASSERT_FALSE(second);
  EXPECT_THAT(second.error().message, HasSubstr(": job [2Jother; wait for its end"));
}

}  // namespace
}  // namespace caravan::cli
