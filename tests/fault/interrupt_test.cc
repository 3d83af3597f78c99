// The user interrupts: once stops after the step that runs, twice at once.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

#include "tests/support/process_table.h"
#include "tests/support/run_process.h"
#include "tests/support/tiny_job.h"

namespace caravan::test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

constexpr int kManySteps = 100000;

class Interrupt : public testing::TestWithParam<int> {
 protected:
  const JobFolder folder_;
};

TEST_P(Interrupt, StopsCleanlyAfterTheStepThatRuns) {
  RunProcess run(folder_.arguments({.data = 2, .steps = kManySteps}));
  ASSERT_TRUE(run.wait_for_step(1, 3));
  run.signal(GetParam());
  const Finished finished = run.finish();
  EXPECT_EQ(finished.status, (ExitStatus{.exit_code = 130, .signal = 0})) << finished.err;
  const JsonObject summary = last_of(finished, "summary");
  EXPECT_EQ(text(summary, "result"), "Interrupted");
  EXPECT_EQ(number(summary, "steps"), number(last_of(finished, "step"), "step"));
  EXPECT_THAT(finished.err, HasSubstr("stopping after the step that runs"));
  EXPECT_TRUE(all_of(finished, "event").empty()) << "an interruption is no failure";
  EXPECT_THAT(left_behind(run.work_directory()), IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(By, Interrupt, testing::Values(SIGINT, SIGTERM),
                         [](const auto& info) { return info.param == SIGINT ? "SIGINT" : "SIGTERM"; });

using InterruptTwice = Interrupt;

TEST_F(InterruptTwice, StopsAtOnceEvenWhenARankHangs) {
  RunProcess run(folder_.arguments({.data = 2, .steps = kManySteps}));
  ASSERT_TRUE(run.wait_for_step(1, 1));
  const std::vector<RunningProcess> ranks = processes_of("caravan-trainer", run.work_directory());
  ASSERT_EQ(ranks.size(), 2U);
  kill(ranks[0].pid, SIGSTOP);
  run.signal(SIGINT);
  run.signal(SIGTERM);
  const Finished finished = run.finish();
  EXPECT_EQ(finished.status.exit_code, 130) << finished.err;
  EXPECT_EQ(text(last_of(finished, "summary"), "result"), "Interrupted");
  EXPECT_THAT(left_behind(run.work_directory()), IsEmpty());
}

TEST_F(InterruptTwice, BeforeTheFirstStepLeavesNothingBehindEither) {
  RunProcess run(folder_.arguments({.data = 2, .steps = kManySteps}));
  ASSERT_TRUE(run.wait_for("plan"));
  run.signal(SIGINT);
  run.signal(SIGTERM);
  EXPECT_EQ(run.finish().status.exit_code, 130);
  EXPECT_THAT(left_behind(run.work_directory()), IsEmpty());
}

TEST(HangUp, DoesNotEndARunUnderNohup) {
  const JobFolder folder;
  const auto before = std::signal(SIGHUP, SIG_IGN);  // inherited, as from nohup
  RunProcess run(folder.arguments({.data = 2, .steps = 30}));
  std::signal(SIGHUP, before);
  ASSERT_TRUE(run.wait_for_step(1, 1));
  run.signal(SIGHUP);
  const Finished finished = run.finish();
  EXPECT_EQ(finished.status.exit_code, 0) << finished.err;
  EXPECT_EQ(text(last_of(finished, "summary"), "result"), "Complete");
}

TEST(Deadline, EndsAJobThatRunsTooLong) {
  const JobFolder folder;
  RunProcess run(folder.arguments({.data = 2, .steps = kManySteps, .more = {"activeDeadlineSeconds: 3"}}));
  const Finished finished = run.finish();
  EXPECT_EQ(finished.status.exit_code, 1) << finished.err;
  EXPECT_THAT(text(last_of(finished, "summary"), "reason"), HasSubstr("DeadlineExceeded"));
  EXPECT_THAT(left_behind(run.work_directory()), IsEmpty());
}

}  // namespace
}  // namespace caravan::test
