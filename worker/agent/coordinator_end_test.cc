// How jobs end: budgets, clocks, and users who stop them.
#include <gmock/gmock.h>

#include "worker/agent/testing/coordinator_test_base.h"

namespace caravan::agent {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

using CoordinatorEndTest = testing::CoordinatorTestBase;

TEST_F(CoordinatorEndTest, RestartsEndWithTheBudget) {
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

TEST_F(CoordinatorEndTest, RestartsOfAnEarlierCoordinatorCount) {
  config_.failure_policy.set_max_restarts(2);
  config_.restarts = 5;
  config_.counted_restarts = 2;
  run_first_attempt();
  die(0, 1, 1);
  stopped(0, 1);
  stopped(1, 1);
  EXPECT_EQ(result().reason(), reasons::kMaxRestartsReached);
}

TEST_F(CoordinatorEndTest, UncountedRestartsOfAnEarlierCoordinatorStayUncounted) {
  config_.failure_policy.set_max_restarts(2);
  config_.restarts = 5;
  config_.counted_restarts = 1;
  run_first_attempt();
  die(0, 1, 1);
  stop_everywhere(1);
  run_attempt(2);
  EXPECT_EQ(state().restarts(), 6);
}

TEST_F(CoordinatorEndTest, AWindowGoesOnWithANewCoordinator) {
  config_.failure_policy.set_max_restarts(1);
  config_.failure_policy.set_window_seconds(60);
  config_.counted_restarts = 1;
  config_.window_age = seconds(59);
  run_first_attempt();
  pass_alive(seconds(5));
  die(0, 1, 1);
  stop_everywhere(1);
  EXPECT_FALSE(exit_code_) << "the window is over";
}

TEST_F(CoordinatorEndTest, LostNodesCostNothingWhereOthersJudgeThem) {
  config_.failure_policy.set_max_restarts(0);
  config_.losses_judged_elsewhere = true;
  run_first_attempt();
  lose(1);
  stopped(0, 1);
  EXPECT_FALSE(exit_code_);
  EXPECT_TRUE(events().back().restarting());
  EXPECT_FALSE(events().back().counts());
}

TEST_F(CoordinatorEndTest, WhyANodeIsToldToEndIsJudgedWhereItIsKnown) {
  v1alpha1::FailureRule& rule = *config_.failure_policy.add_rules_list();
  rule.set_on_reason(reasons::kPreempted);
  rule.set_action(v1alpha1::FailureRule::Fail);
  config_.losses_judged_elsewhere = true;
  run_first_attempt();
  told_to_end(1);
  stop_everywhere(1);
  EXPECT_FALSE(exit_code_) << "its user may have suspended the job";
  EXPECT_TRUE(events().back().restarting());
}

TEST_F(CoordinatorEndTest, TheBudgetIsNotOursWhereOthersKeepIt) {
  config_.failure_policy.set_max_restarts(1);
  config_.losses_judged_elsewhere = true;
  run_first_attempt();
  for (const int attempt : {1, 2}) {
    die(0, attempt, 1);
    stop_everywhere(attempt);
    EXPECT_TRUE(events().back().restarting());
    EXPECT_TRUE(events().back().counts());
    EXPECT_THAT(events().back().message(), HasSubstr("; it counts against failurePolicy.maxRestarts; "));
    EXPECT_THAT(events().back().message(), Not(HasSubstr("restarts)"))) << "how many, others know";
    run_attempt(attempt + 1);
  }
}

TEST_F(CoordinatorEndTest, LimitsThatChangeHoldForTheAttemptThatRuns) {
  config_.stall_timeout = seconds(60);
  run_first_attempt();
  Limits limits;
  limits.stall_timeout = seconds(100);
  limits.failure_policy.set_max_restarts(0);
  give(limits);
  pass_alive(seconds(99));
  EXPECT_EQ(state().phase(), Phase::kRunning);
  pass_alive(seconds(7));
  stopped(0, 1);
  stopped(1, 1);
  EXPECT_EQ(result().reason(), reasons::kMaxRestartsReached);
}

TEST_F(CoordinatorEndTest, RanksOfTheNextAttemptHearOfALongerStallTimeout) {
  config_.stall_timeout = seconds(60);
  run_first_attempt();
  EXPECT_EQ(stall_timeout_seconds_, 60);
  give(Limits{.failure_policy = {}, .stall_timeout = seconds(3600)});
  die(0, 1, 1);
  stop_everywhere(1);
  run_attempt(2);
  EXPECT_EQ(stall_timeout_seconds_, 3600);
}

TEST_F(CoordinatorEndTest, InputThatARankRefusesIsNotTriedAgain) {
  run_first_attempt();
  fail(1, 1, reasons::kRankInvalidInput);
  stopped(0, 1);
  stopped(1, 1);
  EXPECT_EQ(exit_code_, 2);
  EXPECT_EQ(result().reason(), reasons::kInvalidSpec);
}

TEST_F(CoordinatorEndTest, WhoDoesNotJoinIsToldOfToWhoeverJudgesLosses) {
  config_.stall_timeout = seconds(20);
  config_.rejoin_timeout = seconds(3600);
  config_.losses_judged_elsewhere = true;
  join(0);
  pass_alive(seconds(299), {0});
  EXPECT_THAT(events(), IsEmpty());
  pass_alive(seconds(2), {0});
  ASSERT_THAT(events(), SizeIs(1));
  EXPECT_EQ(events()[0].reason(), reasons::kNodeAbsent);
  EXPECT_EQ(events()[0].attempt(), 1) << "the one to come";
  EXPECT_THAT(events()[0].absent_nodes(), ElementsAre(1));
  EXPECT_EQ(events()[0].message(), "not joined within 300 s: node 1");
  EXPECT_FALSE(events()[0].restarting());
  EXPECT_FALSE(events()[0].has_suspect_node()) << "either of two may be cut off";
  pass_alive(seconds(301), {0});
  EXPECT_THAT(events(), SizeIs(2)) << "again, as long as it lasts";
  join(1);
  pass_alive(seconds(600));
  EXPECT_THAT(events(), SizeIs(2));
}

TEST_F(CoordinatorEndTest, WhoWasHeardOfLatelyIsNotAbsent) {
  config_.shape = {.nodes = 3, .world_size = 6};
  config_.rejoin_timeout = seconds(7200);
  config_.losses_judged_elsewhere = true;
  join(0);
  join(1);
  pass_alive(seconds(590), {0, 1});
  lose(1);
  pass_alive(seconds(11), {0});
  ASSERT_THAT(events(), SizeIs(1));
  EXPECT_THAT(events()[0].absent_nodes(), ElementsAre(2));
  pass_alive(seconds(601), {0});
  ASSERT_THAT(events(), SizeIs(2));
  EXPECT_THAT(events()[1].absent_nodes(), ElementsAre(1, 2));
  EXPECT_EQ(events()[1].suspect_node(), 0) << "nobody finds it";
}

TEST_F(CoordinatorEndTest, OfNodesThatAreAllSilentNoneIsToBlame) {
  config_.shape = {.nodes = 3, .world_size = 6};
  for (const int node : {0, 1, 2}) join(node);
  run_attempt(1);
  pass(milliseconds(900));
  beat(2);  // its last word comes later
  pass_alive(seconds(30), {0});
  stopped(0, 1);
  ASSERT_THAT(events(), Not(IsEmpty()));
  EXPECT_EQ(events()[0].reason(), reasons::kPodLost);
  EXPECT_EQ(events()[0].suspect_node(), 0) << "it is cut off";
}

TEST_F(CoordinatorEndTest, OfTwoNodesEitherMayBeCutOff) {
  run_first_attempt();
  pass_alive(seconds(30), {0});
  stopped(0, 1);
  ASSERT_THAT(events(), Not(IsEmpty()));
  EXPECT_FALSE(events()[0].has_suspect_node());
}

TEST_F(CoordinatorEndTest, ANodeWhoseConnectionEndedIsToBlameHoweverLongTheOthersTakeToStop) {
  run_first_attempt();
  lose(1);
  pass_alive(seconds(30), {0});
  stopped(0, 1);
  ASSERT_THAT(events(), Not(IsEmpty()));
  EXPECT_EQ(events()[0].suspect_node(), 1);
}

TEST_F(CoordinatorEndTest, WhereANodeWasToldToEndSilenceIsNobodysFault) {
  config_.shape = {.nodes = 3, .world_size = 6};
  config_.writes_checkpoints = true;
  for (const int node : {0, 1, 2}) join(node);
  run_attempt(1);
  for (int rank = 0; rank < 6; ++rank) step_of(rank, 1, 1);
  told_to_end(1);
  pass_alive(seconds(30), {0});
  stopped(0, 1);
  ASSERT_THAT(events(), Not(IsEmpty()));
  EXPECT_EQ(events()[0].reason(), reasons::kPreempted);
  EXPECT_FALSE(events()[0].has_suspect_node());
}

TEST_F(CoordinatorEndTest, WhoDoesNotJoinIsNotToldOfOutsideOfPods) {
  config_.rejoin_timeout = seconds(7200);
  join(0);
  pass_alive(seconds(1300), {0});
  EXPECT_THAT(events(), IsEmpty());
}

TEST_F(CoordinatorEndTest, AStalledGangIsRestarted) {
  config_.stall_timeout = seconds(60);
  run_first_attempt();
  pass_alive(seconds(50));
  step_of_all(1, 1);
  pass_alive(seconds(59));
  EXPECT_EQ(state().phase(), Phase::kRunning) << "counted from the last step";
  pass_alive(seconds(7));
  stop_everywhere(1);
  EXPECT_EQ(events()[0].reason(), reasons::kStalled);
  EXPECT_THAT(events()[0].message(),
              HasSubstr("no step finished for 60 s (stallTimeoutSeconds) after step 1"));
  run_attempt(2);
}

TEST_F(CoordinatorEndTest, AStepOfSomeRanksOnlyIsNoProgress) {
  config_.stall_timeout = seconds(60);
  run_first_attempt();
  pass_alive(seconds(40));
  for (int rank = 0; rank < 3; ++rank) step_of(rank, 1, 1);
  pass_alive(seconds(26));
  EXPECT_EQ(state().phase(), Phase::kStopping);
}

TEST_F(CoordinatorEndTest, TheDeadlineEndsTheJobAlsoWhenItIsRestartedBetween) {
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

TEST_F(CoordinatorEndTest, TheDeadlineEndsTheJobBehindALastCheckpoint) {
  config_.active_deadline = seconds(100);
  config_.writes_checkpoints = true;
  run_first_attempt();
  pass_alive(seconds(99));
  step_of_all(1, 1);
  pass_alive(seconds(2));
  EXPECT_THAT(take_sent(), ElementsAre("0 until 6", "1 until 6"));
  for (int rank = 0; rank < 4; ++rank) finish(rank, 1, 6);
  stopped(0, 1);
  stopped(1, 1);
  EXPECT_EQ(exit_code_, 1);
  EXPECT_EQ(result().reason(), reasons::kDeadlineExceeded);
}

TEST_F(CoordinatorEndTest, TheDeadlineWaitsForTheStepThatRuns) {
  config_.active_deadline = seconds(500);
  config_.stall_timeout = seconds(3600);
  config_.writes_checkpoints = true;
  step_seconds_ = 400;
  run_first_attempt();
  pass_alive(seconds(499));
  step_of_all(1, 1);
  pass_alive(seconds(2));
  EXPECT_THAT(take_sent(), ElementsAre("0 until 2", "1 until 2"));
  pass_alive(seconds(398));
  EXPECT_EQ(state().phase(), Phase::kRunning);
  step_of_all(1, 2);
  checkpoint_of(0, 1, v1alpha1::CheckpointReport::Written, 2);
  for (int rank = 0; rank < 4; ++rank) finish(rank, 1, 2);
  stopped(0, 1);
  stopped(1, 1);
  EXPECT_EQ(result().reason(), reasons::kDeadlineExceeded);
  EXPECT_THAT(result().message(), Not(HasSubstr("the last checkpoint was not finished")));
}

TEST_F(CoordinatorEndTest, ADeadlineThatPassesInThePauseBeforeARestartEndsTheJobAtOnce) {
  config_.active_deadline = seconds(100);
  config_.stall_timeout = seconds(60);
  config_.short_attempts = 11;
  run_first_attempt();
  pass_alive(seconds(66));
  stopped(0, 1);
  stopped(1, 1);
  EXPECT_EQ(state().phase(), Phase::kBackingOff);
  pass_alive(seconds(35));
  EXPECT_EQ(exit_code_, 1);
  EXPECT_EQ(result().reason(), reasons::kDeadlineExceeded);
}

TEST_F(CoordinatorEndTest, ADeadlineThatCutsTheLastCheckpointOffSaysSo) {
  config_.active_deadline = seconds(100);
  config_.writes_checkpoints = true;
  run_first_attempt();
  pass_alive(seconds(99));
  step_of_all(1, 1);
  pass_alive(seconds(273));
  stopped(0, 1);
  stopped(1, 1);
  EXPECT_EQ(result().reason(), reasons::kDeadlineExceeded);
  EXPECT_THAT(
      result().message(),
      HasSubstr("the job ran for 100 s (activeDeadlineSeconds); the last checkpoint was not finished"));
}

TEST_F(CoordinatorEndTest, WhatHappensBehindTheDeadlineIsNotWhyTheJobEnds) {
  config_.active_deadline = seconds(100);
  config_.writes_checkpoints = true;
  run_first_attempt();
  pass_alive(seconds(99));
  step_of_all(1, 1);
  pass_alive(seconds(2));
  lose(1);
  stopped(0, 1);
  EXPECT_EQ(exit_code_, 1);
  EXPECT_EQ(result().reason(), reasons::kDeadlineExceeded);
}

TEST_F(CoordinatorEndTest, AStopLetsTheRunningStepEnd) {
  run_first_attempt();
  step_of_all(1, 1);
  give(StopRequested{});
  EXPECT_THAT(take_sent(), ElementsAre("0 until 6", "1 until 6")) << "half a second of steps of 0.1 s ahead";
  for (int rank = 0; rank < 4; ++rank) finish(rank, 1, 6);
  EXPECT_EQ(exit_code_, 130);
  EXPECT_EQ(result().result(), reasons::kInterrupted);
}

TEST_F(CoordinatorEndTest, ANodeThatIsToldToEndGoesBehindALastCheckpointAndTheNextAttemptWaitsForItsReturn) {
  config_.writes_checkpoints = true;
  config_.failure_policy.set_max_restarts(0);
  run_first_attempt();
  step_of_all(1, 1);
  told_to_end(1);
  EXPECT_THAT(take_sent(), ElementsAre("0 until 6", "1 until 6"));
  told_to_end(0);
  EXPECT_THAT(take_sent(), IsEmpty()) << "it comes along";
  for (int rank = 0; rank < 4; ++rank) finish(rank, 1, 6);
  EXPECT_THAT(take_sent(), ElementsAre("0 stop 1", "1 stop 1"));
  stopped(0, 1);
  EXPECT_THAT(cut_, IsEmpty());
  stopped(1, 1);
  EXPECT_THAT(cut_, ElementsAre("it was told to end", "it was told to end"));
  ASSERT_EQ(events().size(), 1U);
  EXPECT_EQ(events()[0].reason(), reasons::kPreempted);
  EXPECT_TRUE(events()[0].restarting());
  EXPECT_FALSE(events()[0].counts()) << "maxRestarts is 0";
  EXPECT_THAT(events()[0].message(), HasSubstr("the agent of node 1 was told to end"));
  join(0, 1);
  EXPECT_EQ(state().phase(), Phase::kGathering);
  join(1, 1);
  EXPECT_EQ(state().phase(), Phase::kOpeningMaster);
  EXPECT_EQ(state().attempt(), 2);
}

TEST_F(CoordinatorEndTest, ANodeThatIsToldToEndDoesNotWaitWhereNothingIsKept) {
  run_first_attempt();
  step_of_all(1, 1);
  told_to_end(1);
  EXPECT_THAT(take_sent(), ElementsAre("0 stop 1", "1 stop 1"));
}

TEST_F(CoordinatorEndTest, ANodeThatIsToldToEndBeforeTheGangRunsIsLetGo) {
  join(0);
  told_to_end(0);
  EXPECT_THAT(cut_, ElementsAre("it was told to end"));
  EXPECT_EQ(state().phase(), Phase::kGathering);
  EXPECT_TRUE(events().empty());
}

TEST_F(CoordinatorEndTest, ANodeThatGoesBeforeItIsLetGoHasLeftAllTheSame) {
  config_.writes_checkpoints = true;
  config_.failure_policy.set_max_restarts(0);
  run_first_attempt();
  step_of_all(1, 1);
  told_to_end(1);
  lose(1);
  stopped(0, 1);
  ASSERT_EQ(events().size(), 1U);
  EXPECT_EQ(events()[0].reason(), reasons::kPreempted);
  EXPECT_FALSE(events()[0].has_suspect_node());
}

TEST_F(CoordinatorEndTest, ARankThatFailsBeforeANodeIsLetGoIsWhatIsTold) {
  config_.writes_checkpoints = true;
  run_first_attempt();
  step_of_all(1, 1);
  told_to_end(1);
  die(0, 1, 7);
  stopped(0, 1);
  stopped(1, 1);
  ASSERT_EQ(events().size(), 1U);
  EXPECT_EQ(events()[0].reason(), reasons::kRankFailed);
  EXPECT_EQ(cut_.size(), 1U) << "the node leaves behind that";
}

TEST_F(CoordinatorEndTest, ANodeThatLeavesHasSoLongAsItsPodHas) {
  config_.writes_checkpoints = true;
  run_first_attempt();
  step_of_all(1, 1);
  told_to_end(1);
  pass_alive(seconds(200));
  interlude_of(0, 1, 2);
  pass_alive(seconds(69));
  EXPECT_EQ(state().phase(), Phase::kRunning);
  pass_alive(seconds(2));
  EXPECT_EQ(state().phase(), Phase::kStopping);
}

TEST_F(CoordinatorEndTest, AStopBehindALeavingNodeInterruptsTheJob) {
  config_.writes_checkpoints = true;
  run_first_attempt();
  step_of_all(1, 1);
  told_to_end(1);
  take_sent();
  give(StopRequested{});
  EXPECT_THAT(take_sent(), IsEmpty()) << "the gang stops already";
  for (int rank = 0; rank < 4; ++rank) finish(rank, 1, 6);
  EXPECT_EQ(exit_code_, 130);
}

TEST_F(CoordinatorEndTest, ANodeThatLeavesBehindTheLastStepCompletesTheJob) {
  config_.writes_checkpoints = true;
  run_first_attempt();
  step_of_all(1, 9);
  told_to_end(1);
  for (int rank = 0; rank < 4; ++rank) finish(rank, 1, 10);
  EXPECT_EQ(exit_code_, 0);
}

TEST_F(CoordinatorEndTest, AStopNearTheEndCompletesTheJob) {
  run_first_attempt();
  step_of_all(1, 9);
  give(StopRequested{});
  EXPECT_THAT(take_sent(), ElementsAre("0 until 10", "1 until 10"));
  for (int rank = 0; rank < 4; ++rank) finish(rank, 1, 10);
  EXPECT_EQ(exit_code_, 0);
}

TEST_F(CoordinatorEndTest, ASecondStopDoesNotWait) {
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

TEST_F(CoordinatorEndTest, AStopBeforeTheFirstStepDoesNotWait) {
  run_first_attempt();
  give(StopRequested{});
  EXPECT_THAT(take_sent(), ElementsAre("0 stop 1", "1 stop 1"));
}

TEST_F(CoordinatorEndTest, AStopThatRanksDoNotFollowIsEnforced) {
  run_first_attempt();
  step_of_all(1, 1);
  give(StopRequested{});
  pass_alive(seconds(32));
  EXPECT_EQ(state().phase(), Phase::kStopping);
  EXPECT_EQ(stop_reason_, "its ranks did not end in time");
}

TEST_F(CoordinatorEndTest, AStopBehindTheLastCheckpointDoesNotSayThatItIsMissing) {
  config_.writes_checkpoints = true;
  run_first_attempt();
  step_of_all(1, 1);
  give(StopRequested{});
  step_of_all(1, 6);
  checkpoint_of(0, 1, v1alpha1::CheckpointReport::Written, 6);
  pass_alive(seconds(272));
  EXPECT_EQ(stop_reason_, "its ranks did not end in time");
}

TEST_F(CoordinatorEndTest, AStopWaitsForALastCheckpointThatGetsOn) {
  config_.writes_checkpoints = true;
  run_first_attempt();
  step_of_all(1, 1);
  give(StopRequested{});
  step_of_all(1, 6);
  for (int minute = 0; minute < 7; ++minute) {
    pass_alive(seconds(60));
    interlude_of(0, 1, 7);
  }
  EXPECT_EQ(state().phase(), Phase::kRunning);
  checkpoint_of(0, 1, v1alpha1::CheckpointReport::Written, 6);
  for (int rank = 0; rank < 4; ++rank) finish(rank, 1, 6);
  EXPECT_EQ(exit_code_, 130);
  EXPECT_EQ(result().message(), "stopped after step 6");
}

TEST_F(CoordinatorEndTest, AStopThatCutsTheLastCheckpointOffSaysSo) {
  config_.writes_checkpoints = true;
  run_first_attempt();
  step_of_all(1, 1);
  give(StopRequested{});
  pass_alive(seconds(272));
  EXPECT_EQ(stop_reason_, "the last checkpoint was not finished in time");
  stopped(0, 1);
  stopped(1, 1);
  EXPECT_EQ(exit_code_, 130);
  EXPECT_EQ(result().message(), "stopped after step 1; the last checkpoint was not finished");
}

TEST_F(CoordinatorEndTest, ADeathDuringAStopIsNoFailure) {
  run_first_attempt();
  step_of_all(1, 1);
  give(StopRequested{});
  die(0, 1, 1);
  stopped(0, 1);
  stopped(1, 1);
  EXPECT_EQ(exit_code_, 130);
  EXPECT_TRUE(events().empty());
}

TEST_F(CoordinatorEndTest, AStopBetweenAttemptsEndsTheJobAtOnce) {
  join(0);
  give(StopRequested{});
  EXPECT_EQ(exit_code_, 130);
  EXPECT_THAT(take_sent(), ElementsAre("0 end 130"));
}

TEST_F(CoordinatorEndTest, AnAgentThatJoinsAfterTheEndIsToldTheExitCode) {
  join(0);
  give(StopRequested{});
  take_sent();
  join(1);
  EXPECT_THAT(take_sent(), ElementsAre("1 end 130"));
}

}  // namespace
}  // namespace caravan::agent
