#include "worker/agent/coordinator_state.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <csignal>

#include "worker/agent/reasons.h"

namespace caravan::agent {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using v1alpha1::AgentMessage;
using v1alpha1::CoordinatorMessage;

// Two nodes with two ranks each, ten steps; agents are played by the test. Connection numbers are node + 100
// * joins.
class CoordinatorTest : public ::testing::Test {
 protected:
  CoordinatorTest() { config_ = {.shape = {.nodes = 2, .world_size = 4}, .job_uid = "uid", .steps = 10}; }

  CoordinatorState& state() {
    if (!state_) state_.emplace(config_, now_);
    return *state_;
  }

  void give(const Input& input) {
    for (const Effect& effect : state().step(input, now_)) {
      if (const auto* send = std::get_if<SendTo>(&effect)) note(*send);
      if (const auto* tell = std::get_if<Tell>(&effect)) told_.push_back(tell->report);
      if (const auto* cut = std::get_if<Disconnect>(&effect)) cut_.push_back(cut->why);
      if (const auto* end = std::get_if<EndOfJob>(&effect)) exit_code_ = end->exit_code;
    }
  }
  void note(const SendTo& send) {
    const CoordinatorMessage& m = send.message;
    const int node = static_cast<int>(send.connection % 100);
    if (m.has_open_master()) sent_.push_back(fmt::format("{} open {}", node, m.open_master().attempt()));
    if (m.has_start_attempt()) sent_.push_back(fmt::format("{} start {}", node, m.start_attempt().attempt()));
    if (m.has_stop_attempt()) sent_.push_back(fmt::format("{} stop {}", node, m.stop_attempt().attempt()));
    if (m.has_stop_after_step())
      sent_.push_back(fmt::format("{} until {}", node, m.stop_after_step().step()));
    if (m.has_job_end()) sent_.push_back(fmt::format("{} end {}", node, m.job_end().exit_code()));
  }
  std::vector<std::string> take_sent() { return std::exchange(sent_, {}); }

  void pass(milliseconds time) { now_ += time; }
  // Time goes by with the agents of these nodes alive.
  void pass_alive(milliseconds time, const std::vector<int>& alive = {0, 1}) {
    for (milliseconds gone{0}; gone < time; gone += milliseconds(500)) {
      pass(milliseconds(500));
      for (const int node : alive) beat(node);
      give(Tick{});
    }
  }

  ConnectionId connection(int node) { return node + 100 * joins_[node]; }
  void from(int node, const AgentMessage& message) { give(FromAgent{connection(node), message}); }
  void join(int node, int last_attempt = 0) {
    ++joins_[node];
    AgentMessage message;
    message.mutable_hello()->set_job_uid("uid");
    message.mutable_hello()->set_node(node);
    message.mutable_hello()->set_last_attempt(last_attempt);
    from(node, message);
  }
  void lose(int node) { give(ConnectionLost{connection(node)}); }
  void beat(int node) {
    AgentMessage message;
    message.mutable_heartbeat();
    from(node, message);
  }
  void master_ready(int attempt) {
    AgentMessage message;
    message.mutable_master_ready()->set_attempt(attempt);
    message.mutable_master_ready()->set_address("10.0.0.1");
    message.mutable_master_ready()->set_port(29500);
    from(0, message);
  }
  void stopped(int node, int attempt) {
    AgentMessage message;
    message.mutable_attempt_stopped()->set_attempt(attempt);
    from(node, message);
  }
  v1alpha1::RankReport& update(AgentMessage& message, int attempt, int rank) {
    message.mutable_rank_update()->set_attempt(attempt);
    message.mutable_rank_update()->set_rank(rank);
    return *message.mutable_rank_update()->mutable_report();
  }
  void step_of(int rank, int attempt, int step) {
    AgentMessage message;
    v1alpha1::StepReport& report = *update(message, attempt, rank).mutable_step();
    report.set_step(step);
    report.set_seconds(0.1);
    if (rank >= 2) report.set_loss(3);
    from(rank / 2, message);
  }
  void step_of_all(int attempt, int step) {
    for (int rank = 0; rank < 4; ++rank) step_of(rank, attempt, step);
  }
  static AgentMessage exit_of(int rank, int attempt, int code, int signal = 0, int64_t when = 0) {
    AgentMessage message;
    v1alpha1::RankExit& exit = *message.mutable_rank_exit();
    exit.set_attempt(attempt);
    exit.set_rank(rank);
    exit.set_exit_code(signal == 0 ? code : -1);
    exit.set_signal(signal);
    exit.set_unix_microseconds(when);
    return message;
  }
  void die(int rank, int attempt, int code, int signal = 0, int64_t when = 0) {
    from(rank / 2, exit_of(rank, attempt, code, signal, when));
  }
  void fail(int rank, int attempt, const std::string& reason, int64_t when = 0) {
    AgentMessage message = exit_of(rank, attempt, 1, 0, when);
    message.mutable_rank_exit()->mutable_failure()->set_reason(reason);
    message.mutable_rank_exit()->mutable_failure()->set_message("it says why");
    from(rank / 2, message);
  }
  void finish(int rank, int attempt, int step) {
    AgentMessage message;
    update(message, attempt, rank).mutable_finished()->set_step(step);
    from(rank / 2, message);
    die(rank, attempt, 0);
  }
  void run_attempt(int attempt) {
    master_ready(attempt);
    ASSERT_EQ(state().phase(), Phase::kRunning) << "attempt " << attempt;
    take_sent();
  }
  void run_first_attempt() {
    join(0);
    join(1);
    run_attempt(1);
  }
  // Both nodes have stopped the attempt, and the pause before the next one is over.
  void stop_everywhere(int attempt) {
    stopped(0, attempt);
    stopped(1, attempt);
    pass_alive(seconds(10));
  }

  std::vector<v1alpha1::JobEvent> events() {
    std::vector<v1alpha1::JobEvent> events;
    for (const auto& report : told_) {
      if (report.has_event()) events.push_back(report.event());
    }
    return events;
  }
  const v1alpha1::JobResult& result() { return told_.back().result(); }

  CoordinatorConfig config_;
  TimePoint now_{std::chrono::hours(100)};
  std::optional<CoordinatorState> state_;
  std::map<int, int> joins_;
  std::vector<std::string> sent_;
  std::vector<v1alpha1::JobReport> told_;
  std::vector<std::string> cut_;
  std::optional<int> exit_code_;
};

TEST_F(CoordinatorTest, TheGangFormsWhenTheLastNodeHasJoined) {
  join(1);
  EXPECT_THAT(take_sent(), IsEmpty());
  join(0);
  EXPECT_THAT(take_sent(), ElementsAre("0 open 1"));
  master_ready(1);
  EXPECT_THAT(take_sent(), ElementsAre("0 start 1", "1 start 1"));
  EXPECT_EQ(told_.back().attempt_started().attempt(), 1);
}

TEST_F(CoordinatorTest, TheJobIsCompleteWhenEveryRankHasReachedTheLastStep) {
  run_first_attempt();
  for (int rank = 0; rank < 3; ++rank) finish(rank, 1, 10);
  EXPECT_FALSE(exit_code_);
  finish(3, 1, 10);
  EXPECT_EQ(exit_code_, 0);
  EXPECT_THAT(take_sent(), ElementsAre("0 end 0", "1 end 0"));
  EXPECT_EQ(result().result(), reasons::kComplete);
  EXPECT_EQ(result().reason(), reasons::kStepsReached);
}

TEST_F(CoordinatorTest, AttemptsGoOnAfterTheHighestThatAnyAgentHasSeen) {
  config_.first_attempt = 3;
  join(0);
  join(1, 7);
  EXPECT_THAT(take_sent(), ElementsAre("0 open 8"));
}

TEST_F(CoordinatorTest, AttemptsBeginWithTheFirstOneGiven) {
  config_.first_attempt = 3;
  join(0);
  join(1);
  EXPECT_THAT(take_sent(), ElementsAre("0 open 3"));
}

TEST_F(CoordinatorTest, ADeadRankStopsTheOthersAndTheNextAttemptStartsInPlace) {
  run_first_attempt();
  step_of_all(1, 1);
  die(2, 1, -1, SIGKILL);
  EXPECT_THAT(take_sent(), ElementsAre("0 stop 1", "1 stop 1"));
  stopped(0, 1);
  EXPECT_THAT(take_sent(), IsEmpty()) << "a node that has not stopped is waited for";
  stopped(1, 1);
  ASSERT_EQ(events().size(), 1U);
  EXPECT_EQ(events()[0].reason(), reasons::kRankFailed);
  EXPECT_EQ(events()[0].rank(), 2);
  EXPECT_TRUE(events()[0].restarting());
  EXPECT_THAT(events()[0].message(),
              AllOf(HasSubstr("rank 2 on node 1 died first, after step 1, of signal 9 (SIGKILL)"),
                    HasSubstr("restarting (1 of 10 restarts)")));
  give(Tick{});
  EXPECT_THAT(take_sent(), ::testing::Contains("0 open 2")) << "at once, since a step was made";
  run_attempt(2);
  EXPECT_EQ(state().restarts(), 1);
}

TEST_F(CoordinatorTest, AttemptsThatMakeNoStepAreFurtherAndFurtherApart) {
  run_first_attempt();
  die(0, 1, 1);
  stopped(0, 1);
  stopped(1, 1);
  give(Tick{});
  EXPECT_EQ(state().phase(), Phase::kBackingOff);
  pass(milliseconds(500));
  give(Tick{});
  run_attempt(2);
  die(0, 2, 1);
  stopped(0, 2);
  stopped(1, 2);
  pass(milliseconds(999));
  give(Tick{});
  EXPECT_EQ(state().phase(), Phase::kBackingOff);
  pass(milliseconds(1));
  give(Tick{});
  EXPECT_EQ(state().phase(), Phase::kOpeningMaster);
}

TEST_F(CoordinatorTest, OfTwoDeathsTheEarlierOneIsToBlame) {
  run_first_attempt();
  die(3, 1, 5, 0, 2000);
  die(1, 1, -1, SIGSEGV, 1000);
  stopped(0, 1);
  stopped(1, 1);
  EXPECT_EQ(events()[0].rank(), 1);
  EXPECT_THAT(events()[0].message(), HasSubstr("SIGSEGV"));
}

TEST_F(CoordinatorTest, ARankThatLostItsConnectionIsNotToBlame) {
  run_first_attempt();
  fail(0, 1, reasons::kRankCommunication, 1000);
  die(2, 1, -1, SIGKILL, 1500);
  stopped(0, 1);
  stopped(1, 1);
  EXPECT_EQ(events()[0].rank(), 2);
}

TEST_F(CoordinatorTest, MessagesOfAnOldAttemptChangeNothing) {
  run_first_attempt();
  die(0, 1, 1);
  stop_everywhere(1);
  run_attempt(2);
  const auto told = told_.size();
  const auto refused = state().refused_messages();
  die(1, 1, -1, SIGKILL);
  step_of(1, 1, 5);
  stopped(0, 1);
  master_ready(1);
  EXPECT_EQ(state().phase(), Phase::kRunning);
  EXPECT_EQ(told_.size(), told);
  EXPECT_EQ(state().refused_messages(), refused + 4);
}

TEST_F(CoordinatorTest, MessagesForAnotherNodesRankChangeNothing) {
  run_first_attempt();
  from(0, exit_of(3, 1, 1));
  from(1, exit_of(99, 1, 1));
  from(1, exit_of(-1, 1, 1));
  EXPECT_EQ(state().phase(), Phase::kRunning);
  EXPECT_EQ(state().refused_messages(), 3);
}

TEST_F(CoordinatorTest, AStrangerChangesNothing) {
  run_first_attempt();
  give(FromAgent{999, exit_of(0, 1, 1)});
  EXPECT_EQ(state().phase(), Phase::kRunning);
  EXPECT_EQ(state().refused_messages(), 1);
}

TEST_F(CoordinatorTest, AnAgentOfAnotherJobOrWithoutAPlaceIsRefused) {
  AgentMessage message;
  message.mutable_hello()->set_job_uid("other");
  give(FromAgent{1, message});
  message.mutable_hello()->set_job_uid("uid");
  message.mutable_hello()->set_node(2);
  give(FromAgent{2, message});
  EXPECT_THAT(cut_,
              ElementsAre("this coordinator runs job uid, not other", "there is no node 2: the job has 2"));
}

TEST_F(CoordinatorTest, ALostAgentIsWaitedForAndTheJobGoesOnWhenItIsBack) {
  run_first_attempt();
  step_of_all(1, 1);
  lose(1);
  EXPECT_THAT(take_sent(), ElementsAre("0 stop 1"));
  stopped(0, 1);
  EXPECT_EQ(events()[0].reason(), reasons::kPodLost);
  EXPECT_EQ(events()[0].rank(), -1);
  EXPECT_THAT(events()[0].message(), HasSubstr("the agent of node 1 was lost"));
  pass_alive(seconds(60), {0});
  EXPECT_EQ(state().phase(), Phase::kGathering);
  join(1);
  EXPECT_THAT(take_sent(), ElementsAre("0 open 2"));
}

TEST_F(CoordinatorTest, ASilentAgentIsLostWithinFiveSeconds) {
  run_first_attempt();
  pass_alive(seconds(3), {0});
  EXPECT_EQ(state().phase(), Phase::kRunning);
  pass_alive(seconds(2), {0});
  EXPECT_EQ(state().phase(), Phase::kStopping);
  EXPECT_THAT(cut_, ElementsAre(HasSubstr("no heartbeat for")));
}

TEST_F(CoordinatorTest, ALostNodeIsToBlameForRanksThatLostTheirConnectionToIt) {
  run_first_attempt();
  fail(0, 1, reasons::kRankCommunication);
  EXPECT_EQ(state().phase(), Phase::kStopping);
  stopped(0, 1);
  pass_alive(seconds(5), {0});
  EXPECT_EQ(events()[0].reason(), reasons::kPodLost);
}

TEST_F(CoordinatorTest, AnAgentThatJoinsAnewTakesThePlaceOfItsOldConnection) {
  run_first_attempt();
  join(1);
  EXPECT_THAT(take_sent(), ElementsAre("0 stop 1"));
  EXPECT_THAT(cut_, ElementsAre("it joined anew"));
  stopped(0, 1);
  pass_alive(seconds(1));
  EXPECT_THAT(take_sent(), ElementsAre("0 open 2"));
}

TEST_F(CoordinatorTest, ALostAgentWhileTheGangFormsCostsNoRestart) {
  join(0);
  join(1);
  lose(1);
  EXPECT_EQ(state().phase(), Phase::kGathering);
  join(1);
  run_attempt(2);
  EXPECT_EQ(state().restarts(), 0);
}

TEST_F(CoordinatorTest, ANodeThatDoesNotComeBackEndsTheJob) {
  config_.rejoin_timeout = seconds(30);
  join(0);
  pass_alive(seconds(31), {0});
  EXPECT_EQ(exit_code_, 1);
  EXPECT_EQ(result().reason(), reasons::kPodLost);
  EXPECT_THAT(result().message(), HasSubstr("waited 30 s for node 1;"));
}

TEST_F(CoordinatorTest, ANodeThatCannotEndItsRanksIsGivenUp) {
  run_first_attempt();
  die(0, 1, 1);
  stopped(0, 1);
  pass_alive(seconds(61));
  EXPECT_THAT(cut_, ElementsAre(HasSubstr("its ranks did not end within 60 s")));
  EXPECT_EQ(events()[0].reason(), reasons::kRankFailed);
}

TEST_F(CoordinatorTest, RestartsEndWithTheBudget) {
  config_.failure_policy.set_max_restarts(1);
  run_first_attempt();
  die(0, 1, 1);
  stop_everywhere(1);
  run_attempt(2);
  die(0, 2, 1);
  stopped(0, 2);
  stopped(1, 2);
  EXPECT_EQ(exit_code_, 1);
  EXPECT_EQ(result().result(), reasons::kFailed);
  EXPECT_EQ(result().reason(), reasons::kMaxRestartsReached);
  EXPECT_EQ(result().restarts(), 1);
  EXPECT_FALSE(events().back().restarting());
}

TEST_F(CoordinatorTest, RestartsOfAnEarlierCoordinatorCount) {
  config_.failure_policy.set_max_restarts(2);
  config_.restarts = 2;
  run_first_attempt();
  die(0, 1, 1);
  stopped(0, 1);
  stopped(1, 1);
  EXPECT_EQ(result().reason(), reasons::kMaxRestartsReached);
}

TEST_F(CoordinatorTest, InputThatARankRefusesIsNotTriedAgain) {
  run_first_attempt();
  fail(1, 1, reasons::kRankInvalidInput);
  stopped(0, 1);
  stopped(1, 1);
  EXPECT_EQ(exit_code_, 2);
  EXPECT_EQ(result().reason(), reasons::kInvalidSpec);
}

TEST_F(CoordinatorTest, AStalledGangIsRestarted) {
  config_.stall_timeout = seconds(60);
  run_first_attempt();
  pass_alive(seconds(50));
  step_of_all(1, 1);
  pass_alive(seconds(59));
  EXPECT_EQ(state().phase(), Phase::kRunning) << "counted from the last step";
  pass_alive(seconds(2));
  stop_everywhere(1);
  EXPECT_EQ(events()[0].reason(), reasons::kStalled);
  EXPECT_THAT(events()[0].message(),
              HasSubstr("no step finished for 60 s (stallTimeoutSeconds) after step 1"));
  run_attempt(2);
}

TEST_F(CoordinatorTest, AStepOfSomeRanksOnlyIsNoProgress) {
  config_.stall_timeout = seconds(60);
  run_first_attempt();
  pass_alive(seconds(40));
  for (int rank = 0; rank < 3; ++rank) step_of(rank, 1, 1);
  pass_alive(seconds(21));
  EXPECT_EQ(state().phase(), Phase::kStopping);
}

TEST_F(CoordinatorTest, TheDeadlineEndsTheJobAlsoWhenItIsRestartedBetween) {
  config_.active_deadline = seconds(100);
  config_.elapsed = seconds(50);
  run_first_attempt();
  pass_alive(seconds(49));
  EXPECT_EQ(state().phase(), Phase::kRunning);
  pass_alive(seconds(2));
  stopped(0, 1);
  stopped(1, 1);
  EXPECT_EQ(exit_code_, 1);
  EXPECT_EQ(result().reason(), reasons::kDeadlineExceeded);
}

TEST_F(CoordinatorTest, AStopLetsTheRunningStepEnd) {
  run_first_attempt();
  step_of_all(1, 1);
  give(StopRequested{});
  EXPECT_THAT(take_sent(), ElementsAre("0 until 6", "1 until 6")) << "half a second of steps of 0.1 s ahead";
  for (int rank = 0; rank < 4; ++rank) finish(rank, 1, 6);
  EXPECT_EQ(exit_code_, 130);
  EXPECT_EQ(result().result(), reasons::kInterrupted);
}

TEST_F(CoordinatorTest, AStopNearTheEndCompletesTheJob) {
  run_first_attempt();
  step_of_all(1, 9);
  give(StopRequested{});
  EXPECT_THAT(take_sent(), ElementsAre("0 until 10", "1 until 10"));
  for (int rank = 0; rank < 4; ++rank) finish(rank, 1, 10);
  EXPECT_EQ(exit_code_, 0);
}

TEST_F(CoordinatorTest, ASecondStopDoesNotWait) {
  run_first_attempt();
  step_of_all(1, 1);
  give(StopRequested{});
  take_sent();
  give(StopRequested{});
  EXPECT_THAT(take_sent(), ElementsAre("0 stop 1", "1 stop 1"));
  stopped(0, 1);
  stopped(1, 1);
  EXPECT_EQ(exit_code_, 130);
}

TEST_F(CoordinatorTest, AStopBeforeTheFirstStepDoesNotWait) {
  run_first_attempt();
  give(StopRequested{});
  EXPECT_THAT(take_sent(), ElementsAre("0 stop 1", "1 stop 1"));
}

TEST_F(CoordinatorTest, AStopThatRanksDoNotFollowIsEnforced) {
  run_first_attempt();
  step_of_all(1, 1);
  give(StopRequested{});
  pass_alive(seconds(32));
  EXPECT_EQ(state().phase(), Phase::kStopping);
}

TEST_F(CoordinatorTest, ADeathDuringAStopIsNoFailure) {
  run_first_attempt();
  step_of_all(1, 1);
  give(StopRequested{});
  die(0, 1, 1);
  stopped(0, 1);
  stopped(1, 1);
  EXPECT_EQ(exit_code_, 130);
  EXPECT_TRUE(events().empty());
}

TEST_F(CoordinatorTest, AStopBetweenAttemptsEndsTheJobAtOnce) {
  join(0);
  give(StopRequested{});
  EXPECT_EQ(exit_code_, 130);
  EXPECT_THAT(take_sent(), ElementsAre("0 end 130"));
}

TEST_F(CoordinatorTest, AnAgentThatJoinsAfterTheEndIsToldTheExitCode) {
  join(0);
  give(StopRequested{});
  take_sent();
  join(1);
  EXPECT_THAT(take_sent(), ElementsAre("1 end 130"));
}

TEST_F(CoordinatorTest, ARankThatEndsEarlyWithoutAWordHasFailed) {
  run_first_attempt();
  die(1, 1, 0);
  EXPECT_EQ(state().phase(), Phase::kStopping);
  stopped(0, 1);
  stopped(1, 1);
  EXPECT_THAT(events()[0].message(), HasSubstr("before the last step, with exit code 0"));
}

TEST_F(CoordinatorTest, AStepOfTheJobIsToldOnceAllRanksHaveMadeIt) {
  run_first_attempt();
  for (int rank = 0; rank < 3; ++rank) step_of(rank, 1, 1);
  EXPECT_FALSE(told_.back().has_step());
  step_of(3, 1, 1);
  EXPECT_EQ(told_.back().step().step(), 1);
  EXPECT_EQ(told_.back().step().attempt(), 1);
}

TEST_F(CoordinatorTest, HeartbeatsGoToEveryAgent) {
  join(0);
  join(1);
  int beats = 0;
  for (int i = 0; i < 8; ++i) {
    pass(milliseconds(250));
    for (const Effect& effect : state().step(Tick{}, now_)) {
      const auto* send = std::get_if<SendTo>(&effect);
      beats += send != nullptr && send->message.has_heartbeat() ? 1 : 0;
    }
  }
  EXPECT_EQ(beats, 4) << "two seconds, two agents";
}

}  // namespace
}  // namespace caravan::agent
