// The user interrupts: once stops after the step that runs, twice at once.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <string>
#include <vector>

#include "common/process.h"
#include "common/testing/await.h"
#include "common/testing/checkout.h"
#include "common/testing/temporary_folder.h"
#include "common/unique_fd.h"
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

// Of a run's standard output, a pipe, which is read as far as a test does.
class StuckReader : public testing::Test {
 protected:
  Process start(const TinyJob& job) const {
    std::vector<std::string> arguments = folder_.arguments(job, {"--work-directory", work_});
    arguments.insert(arguments.begin(), "run");
    return Process::spawn({.program = program_folder() + "/caravan",
                           .arguments = arguments,
                           .stdout_fd = pipe_.write_end.get(),
                           .stderr_fd = err_.get()})
        .value();
  }
  void read_until(const std::string& wanted) const {
    std::string text;
    char buffer[4096];
    while (text.find(wanted) == std::string::npos) {
      const ssize_t count = read(pipe_.read_end.get(), buffer, sizeof buffer);
      ASSERT_GT(count, 0) << text;
      text.append(buffer, static_cast<std::size_t>(count));
    }
  }
  void fill_pipe() const {
    const int descriptor = pipe_.write_end.get();
    ASSERT_TRUE(set_nonblocking(descriptor));
    const std::string page(4096, 'x');
    while (write(descriptor, page.data(), page.size()) > 0) {
    }
    ASSERT_EQ(fcntl(descriptor, F_SETFL, 0), 0);  // writes block, as in a shell's pipe
  }
  std::string err() const { return contents(folder_.files().path("stderr")); }
  void expect_end(Process& run, int exit_code) const {
    pollfd end{run.pidfd(), POLLIN, 0};
    ASSERT_EQ(poll(&end, 1, 60'000), 1) << "it waits for the reader";
    EXPECT_EQ(run.wait(), (ExitStatus{.exit_code = exit_code, .signal = 0})) << err();
    EXPECT_THAT(left_behind(work_), IsEmpty());
  }

  const Pipe pipe_ = make_pipe().value();
  const JobFolder folder_;
  const std::string work_ = folder_.files().path("work");
  const UniqueFd err_{open(folder_.files().write("stderr", "").c_str(), O_WRONLY | O_CLOEXEC)};
};

TEST_F(StuckReader, DoesNotHoldUpAnInterruption) {
  fill_pipe();
  Process run = start({.data = 2});
  await([&] { return std::filesystem::exists(work_); });  // from then on it hears signals
  kill(run.pid(), SIGINT);
  expect_end(run, 130);
}

TEST_F(StuckReader, DoesNotHoldUpARunThatHasHeardOfItsInterruption) {
  Process run = start({.data = 2, .steps = kManySteps});
  read_until(R"("type":"step")");
  const std::vector<RunningProcess> ranks = processes_of("caravan-trainer", work_);
  ASSERT_EQ(ranks.size(), 2U);
  kill(ranks[0].pid, SIGSTOP);
  kill(run.pid(), SIGTERM);
  await([&] { return err().find("stopping after the step") != std::string::npos; });
  fill_pipe();
  kill(ranks[0].pid, SIGCONT);
  expect_end(run, 130);
}

TEST_F(StuckReader, OfAJobThatIsDoneMakesTheRunFail) {
  Process run = start({.data = 2});
  read_until(R"("type":"plan")");
  fill_pipe();
  const auto has_ranks = [&] { return !processes_of("caravan-trainer", work_).empty(); };
  await(has_ranks);
  await([&] { return !has_ranks(); });
  kill(run.pid(), SIGTERM);
  expect_end(run, 1);
  EXPECT_THAT(err(), HasSubstr("standard output: its reader is stuck"));
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
