// A rank of a run gets stuck. It is named with what the others wait for, and the job ends well in the next
// attempt.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>

#include "tests/support/process_table.h"
#include "tests/support/run_process.h"
#include "tests/support/tiny_job.h"

namespace caravan::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

// Enough for ranks to start on a busy machine.
constexpr const char* kStallTimeout = "stallTimeoutSeconds: 20";
constexpr int kStepsOfAStalledRun = 64;

pid_t process_of_rank(const RunProcess& run, int rank) {
  const std::string config = fmt::format("rank-{}.json", rank);
  for (const RunningProcess& process : processes_of("caravan-trainer", run.work_directory())) {
    if (process.command_line.find(config) != std::string::npos) return process.pid;
  }
  return -1;
}

std::vector<pid_t> threads_of(pid_t process) {
  std::vector<pid_t> threads;
  for (const auto& entry : std::filesystem::directory_iterator(fmt::format("/proc/{}/task", process)))
    threads.push_back(std::stoi(entry.path().filename()));
  return threads;
}

// Holds threads as a debugger does, which the process' parent does not see.
class HeldThreads {
 public:
  // Why that cannot be done; empty when it was.
  std::string hold(const std::vector<pid_t>& threads) {
    for (const pid_t thread : threads) {
      if (ptrace(PTRACE_SEIZE, thread, nullptr, nullptr) != 0) return std::strerror(errno);
      held_.push_back(thread);
      ptrace(PTRACE_INTERRUPT, thread, nullptr, nullptr);
      int status = 0;
      waitpid(thread, &status, __WALL);
    }
    return "";
  }
  // The parent of a process that is held hears of its end after us, and we of that of its first thread last.
  void wait_for_their_end() {
    for (auto thread = held_.rbegin(); thread != held_.rend(); ++thread) {
      int status = 0;
      while (waitpid(*thread, &status, __WALL) > 0 && WIFSTOPPED(status)) {
      }
    }
  }

 private:
  std::vector<pid_t> held_;
};

class StallFault : public testing::Test {
 protected:
  std::vector<std::string> arguments(int ranks) const {
    return folder_.arguments({.data = ranks, .steps = kStepsOfAStalledRun, .more = {kStallTimeout}});
  }

  void expect_stall(RunProcess& run, int rank, const testing::Matcher<std::string>& message) {
    const std::optional<JsonObject> event = run.wait_for("event");
    ASSERT_TRUE(event);
    EXPECT_EQ(text(*event, "reason"), "Stalled");
    EXPECT_EQ(number(*event, "rank"), rank);
    EXPECT_THAT(text(*event, "message"), message);
    const Finished finished = run.finish();
    EXPECT_EQ(finished.status.exit_code, 0) << finished.err;
    EXPECT_EQ(number(last_of(finished, "step"), "attempt"), 2);
    EXPECT_EQ(number(last_of(finished, "step"), "step"), kStepsOfAStalledRun);
    EXPECT_THAT(left_behind(run.work_directory()), IsEmpty());
  }

  const JobFolder folder_;
};

TEST_F(StallFault, OfARankThatASignalStopsNamesIt) {
  RunProcess run(arguments(2));
  ASSERT_TRUE(run.wait_for_step(1, 4));
  kill(process_of_rank(run, 1), SIGSTOP);
  expect_stall(run, 1, HasSubstr("rank 1 on node 0 died first"));
}

TEST_F(StallFault, OfARankThatDoesNotAnswerNamesItAndWhatTheOtherWaitsFor) {
  RunProcess run(arguments(2));
  ASSERT_TRUE(run.wait_for_step(1, 4));
  HeldThreads held;
  if (const std::string why = held.hold(threads_of(process_of_rank(run, 1))); !why.empty())
    GTEST_SKIP() << "this machine lets nobody hold a thread: " << why;
  held.wait_for_their_end();
  expect_stall(run, 1,
               AllOf(HasSubstr("rank 1 on node 0 does not answer; 1 other waits in "), HasSubstr(" over ")));
}

TEST_F(StallFault, OfARankThatIsStuckInItsOwnWorkSaysInWhat) {
  RunProcess run(arguments(1));
  ASSERT_TRUE(run.wait_for_step(1, 4));
  HeldThreads held;
  if (const std::string why = held.hold({process_of_rank(run, 0)}); !why.empty())
    GTEST_SKIP() << "this machine lets nobody hold a thread: " << why;
  held.wait_for_their_end();
  expect_stall(run, 0, HasSubstr("rank 0 on node 0 has been in "));
}

}  // namespace
}  // namespace caravan::test
