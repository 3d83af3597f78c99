// kill -9 of whatever belongs to a run. The job goes on in the next attempt with the same losses, and no
// process is left behind.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <iostream>
#include <map>
#include <random>
#include <thread>

#include "tests/support/process_table.h"
#include "tests/support/run_process.h"
#include "tests/support/tiny_job.h"

namespace caravan::test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

// Many more than there are before the fault, so that it comes before the end.
constexpr int kSteps = 32;
constexpr int kLatestFault = 8;

TinyJob four_ranks() {
  return {.tensor = 2, .data = 2, .steps = kSteps};
}

// Any step will do.
bool wait_for_random_step(RunProcess& run) {
  std::random_device chance;
  const int step = std::uniform_int_distribution<int>(1, kLatestFault)(chance);
  std::cout << "the fault comes after step " << step << "\n";
  return run.wait_for_step(1, step);
}

std::vector<RunningProcess> ranks_of(const RunProcess& run) {
  return processes_of("caravan-trainer", run.work_directory());
}
std::vector<RunningProcess> agents_of(const RunProcess& run) {
  return processes_of("caravan-agent", run.work_directory());
}

std::string listing(const std::vector<RunningProcess>& processes) {
  std::string text;
  for (const RunningProcess& process : processes) text += process.command_line + "\n";
  return text;
}

class Kill : public testing::Test {
 protected:
  double fault_free_loss(const std::vector<std::string>& arguments) {
    const Finished finished = run(arguments);
    EXPECT_EQ(finished.status.exit_code, 0) << finished.err;
    return number(last_of(finished, "summary"), "lastLoss");
  }

  // After the fault: the same last loss in a later attempt.
  void expect_recovery(RunProcess& run, double expected_loss) {
    const Finished finished = run.finish();
    ASSERT_EQ(finished.status.exit_code, 0) << finished.err;
    const JsonObject summary = last_of(finished, "summary");
    EXPECT_EQ(number(summary, "lastLoss"), expected_loss);
    EXPECT_EQ(number(summary, "restarts"), 1);
    EXPECT_EQ(number(last_of(finished, "step"), "attempt"), 2);
    EXPECT_THAT(left_behind(run.work_directory()), IsEmpty());
  }

  const JobFolder folder_;
};

TEST_F(Kill, OfARankCostsOneAttempt) {
  const std::vector<std::string> arguments = folder_.arguments(four_ranks());
  const double loss = fault_free_loss(arguments);
  RunProcess run(arguments);
  ASSERT_TRUE(wait_for_random_step(run));
  const std::vector<RunningProcess> ranks = ranks_of(run);
  ASSERT_EQ(ranks.size(), 4U) << listing(ranks);
  kill(ranks[2].pid, SIGKILL);
  const std::optional<JsonObject> event = run.wait_for("event");
  ASSERT_TRUE(event);
  EXPECT_EQ(text(*event, "reason"), "RankFailed");
  EXPECT_THAT(text(*event, "message"), HasSubstr("SIGKILL"));
  expect_recovery(run, loss);
}

TEST_F(Kill, OfTwoRanksAtOnceCostsOneAttempt) {
  const std::vector<std::string> arguments = folder_.arguments(four_ranks(), {"--nodes", "2"});
  const double loss = fault_free_loss(arguments);
  RunProcess run(arguments);
  ASSERT_TRUE(wait_for_random_step(run));
  const std::vector<RunningProcess> ranks = ranks_of(run);
  ASSERT_EQ(ranks.size(), 4U) << listing(ranks);
  kill(ranks[0].pid, SIGKILL);
  kill(ranks[3].pid, SIGKILL);
  expect_recovery(run, loss);
}

class KillOfAnAgent : public Kill, public testing::WithParamInterface<int> {};

TEST_P(KillOfAnAgent, CostsOneAttemptAndItIsStartedAgain) {
  const std::vector<std::string> arguments = folder_.arguments(four_ranks(), {"--nodes", "2"});
  const double loss = fault_free_loss(arguments);
  RunProcess run(arguments);
  ASSERT_TRUE(wait_for_random_step(run));
  const std::vector<RunningProcess> agents = agents_of(run);
  ASSERT_EQ(agents.size(), 2U) << listing(agents);
  kill(agents[static_cast<std::size_t>(GetParam())].pid, SIGKILL);
  expect_recovery(run, loss);
}

TEST_P(KillOfAnAgent, ByAStopCostsOneAttemptToo) {
  const std::vector<std::string> arguments = folder_.arguments(four_ranks(), {"--nodes", "2"});
  const double loss = fault_free_loss(arguments);
  RunProcess run(arguments);
  ASSERT_TRUE(wait_for_random_step(run));
  const std::vector<RunningProcess> agents = agents_of(run);
  ASSERT_EQ(agents.size(), 2U) << listing(agents);
  kill(agents[static_cast<std::size_t>(GetParam())].pid, SIGSTOP);
  expect_recovery(run, loss);
}

INSTANTIATE_TEST_SUITE_P(OfNode, KillOfAnAgent, testing::Values(0, 1));

// As a drained machine ends a pod.
TEST_F(Kill, BySigtermOfAnAgentHasTheGangSaveAndGoOnBehindThatAtNoCost) {
  TinyJob job = four_ranks();
  job.steps = 4 * kSteps;  // half a second of them lies before the stop
  job.max_restarts = 0;
  job.more = {
      fmt::format("checkpoint: {{path: '{}', everySteps: {}}}", folder_.files().path("states"), job.steps)};
  RunProcess run(folder_.arguments(job, {"--nodes", "2"}));
  ASSERT_TRUE(wait_for_random_step(run));
  kill(agents_of(run).at(1).pid, SIGTERM);
  const Finished finished = run.finish();
  ASSERT_EQ(finished.status.exit_code, 0) << finished.err;
  const std::vector<JsonObject> events = all_of(finished, "event");
  EXPECT_TRUE(std::any_of(events.begin(), events.end(),
                          [](const JsonObject& event) { return text(event, "reason") == "Preempted"; }));
  std::map<int, double> times;
  for (const JsonObject& step : all_of(finished, "step")) ++times[static_cast<int>(number(step, "step"))];
  EXPECT_EQ(times.size(), static_cast<std::size_t>(job.steps));
  for (const auto& [step, made] : times) EXPECT_EQ(made, 1) << "step " << step;
  EXPECT_EQ(number(last_of(finished, "step"), "attempt"), 2);
  EXPECT_THAT(left_behind(run.work_directory()), IsEmpty());
}

TEST_F(Kill, OfTheOnlyAgentAgainAndAgainIsAnsweredLaterEachTimeAndCanBeInterrupted) {
  RunProcess run(folder_.arguments({.steps = 100000}));
  for (int attempt = 1; attempt < 4; ++attempt) {
    ASSERT_TRUE(run.wait_for_step(attempt, 1));
    const pid_t killed = agents_of(run).at(0).pid;
    // Before the kill: a pause begins as soon as the process is dead, whenever this test runs on.
    const auto killed_at = std::chrono::steady_clock::now();
    kill(killed, SIGKILL);
    const auto is_replaced = [&] {
      const auto agents = agents_of(run);
      return !agents.empty() && agents[0].pid != killed;
    };
    while (!is_replaced()) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    const auto pause = std::chrono::milliseconds(attempt == 1 ? 0 : 250 << (attempt - 1));
    EXPECT_GE(std::chrono::steady_clock::now() - killed_at, pause) << "after attempt " << attempt;
  }
  ASSERT_TRUE(run.wait_for_step(4, 1));
  kill(agents_of(run).at(0).pid, SIGKILL);
  ASSERT_TRUE(run.wait_for("event"));
  run.signal(SIGINT);
  EXPECT_EQ(run.finish().status.exit_code, 130);
  EXPECT_THAT(left_behind(run.work_directory()), IsEmpty());
}

TEST_F(Kill, OfTheCommandLineEndsAgentsAndRanks) {
  RunProcess run(folder_.arguments({.tensor = 2, .data = 2, .steps = 100000}, {"--nodes", "2"}));
  ASSERT_TRUE(run.wait_for_step(1, 1));
  ASSERT_EQ(ranks_of(run).size(), 4U);
  run.signal(SIGKILL);
  EXPECT_EQ(run.finish().status.signal, SIGKILL);
  const std::vector<RunningProcess> left = left_behind(run.work_directory());
  EXPECT_THAT(left, IsEmpty()) << listing(left);
}

TEST_F(Kill, MoreOftenThanTheJobAllowsFailsItAndNamesTheCause) {
  TinyJob job = four_ranks();
  job.max_restarts = 0;
  RunProcess run(folder_.arguments(job));
  ASSERT_TRUE(run.wait_for_step(1, 1));
  kill(ranks_of(run).at(1).pid, SIGKILL);
  const Finished finished = run.finish();
  EXPECT_EQ(finished.status.exit_code, 1);
  const JsonObject summary = last_of(finished, "summary");
  EXPECT_EQ(text(summary, "result"), "Failed");
  EXPECT_THAT(text(summary, "reason"), HasSubstr("SIGKILL"));
  EXPECT_THAT(finished.err, HasSubstr("rank 1"));
  EXPECT_THAT(finished.err, HasSubstr(run.work_directory())) << "says where the logs are";
  EXPECT_THAT(left_behind(run.work_directory()), IsEmpty());
}

TEST_F(Kill, OfAnAgentMoreOftenThanTheJobAllowsFailsIt) {
  TinyJob job = four_ranks();
  job.max_restarts = 0;
  RunProcess run(folder_.arguments(job));
  ASSERT_TRUE(run.wait_for_step(1, 1));
  kill(agents_of(run).at(0).pid, SIGKILL);
  const Finished finished = run.finish();
  EXPECT_EQ(finished.status.exit_code, 1);
  EXPECT_THAT(text(last_of(finished, "summary"), "reason"),
              HasSubstr("the agent of node 0 ended with signal 9"));
  EXPECT_THAT(left_behind(run.work_directory()), IsEmpty());
}

}  // namespace
}  // namespace caravan::test
