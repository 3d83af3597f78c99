#include "worker/agent/coordinator_state.h"

#include <gmock/gmock.h>

#include <csignal>

#include "common/testing/turn.h"
#include "worker/agent/testing/coordinator_test_base.h"

namespace caravan::agent {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using v1alpha1::AgentMessage;

using CoordinatorTest = testing::CoordinatorTestBase;

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

TEST_F(CoordinatorTest, AnAgentOfAnotherVersionIsLetInWithAWarning) {
  join(0);
  EXPECT_THAT(warned_, IsEmpty());
  for (const char* other : {"0.0.9", ""}) {
    agents_version_ = other;
    join(1);
    EXPECT_EQ(state().phase(), Phase::kOpeningMaster);
  }
  EXPECT_THAT(
      warned_,
      ElementsAre(HasSubstr(fmt::format("node 1 has version 0.0.9 of Caravan and the coordinator version {}:",
                                        version())),
                  HasSubstr("node 1 has version unknown")));
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
  EXPECT_TRUE(events()[0].counts());
  EXPECT_THAT(events()[0].message(),
              AllOf(HasSubstr("rank 2 on node 1 died first, after step 1, of signal 9 (SIGKILL)"),
                    HasSubstr("restarting (1 of 10 restarts)")));
  give(Tick{});
  EXPECT_THAT(take_sent(), ::testing::Contains("0 open 2")) << "at once, the first time";
  run_attempt(2);
  EXPECT_EQ(state().restarts(), 1);
}

TEST_F(CoordinatorTest, AttemptsThatMakeNoStepAreFurtherAndFurtherApart) {
  expect_pauses({milliseconds(0), milliseconds(500), milliseconds(1000), milliseconds(2000)}, false);
}

TEST_F(CoordinatorTest, AttemptsThatEndSoonAfterAStepAreFurtherAndFurtherApart) {
  expect_pauses({milliseconds(0), milliseconds(500), milliseconds(1000), milliseconds(2000)}, true);
}

TEST_F(CoordinatorTest, ARowOfShortAttemptsGoesOnWithTheNextCoordinator) {
  config_.short_attempts = 2;
  expect_pauses({milliseconds(1000), milliseconds(2000)}, true);
  run_attempt(state().attempt());
  EXPECT_EQ(told_.back().attempt_started().short_attempts(), 4) << "for whoever starts it again";
}

TEST_F(CoordinatorTest, AHealthyAttemptIsStartedAgainAtOnce) {
  config_.stall_timeout = std::chrono::hours(1);
  run_first_attempt();
  for (int attempt = 1; attempt < 4; ++attempt) {
    if (attempt == 3) pass_alive(std::chrono::minutes(10));
    step_of_all(attempt, 1);
    die(0, attempt, 1);
    if (attempt < 3) {
      stop_everywhere(attempt);
      run_attempt(attempt + 1);
    }
  }
  stopped(0, 3);
  stopped(1, 3);
  give(Tick{});
  EXPECT_EQ(state().phase(), Phase::kOpeningMaster);
}

TEST_F(CoordinatorTest, WhoeverPlannedTheJobHearsWhichUseOfMemoryGrewAndHasTheTimeToPlanAgain) {
  run_first_attempt();
  run_out_of_memory(2, 1, {.planned_bytes = 100, .used_bytes = 131});
  fail(1, 1, reasons::kRankCommunication);
  stopped(0, 1);
  stopped(1, 1);
  ASSERT_EQ(events().size(), 1U);
  EXPECT_EQ(events()[0].reason(), reasons::kOutOfMemory);
  EXPECT_EQ(events()[0].shortage().term(), "activations");
  EXPECT_EQ(events()[0].shortage().used_bytes(), 131);
  pass_alive(seconds(9));
  EXPECT_EQ(state().phase(), Phase::kBackingOff);
  pass_alive(seconds(1));
  run_attempt(2);
  const v1alpha1::AttemptStarted& started = told_.back().attempt_started();
  ASSERT_EQ(started.ended_size(), 1);
  EXPECT_EQ(started.ended(0).shortage().planned_bytes(), 100) << "for whoever missed the event";
}

TEST_F(CoordinatorTest, AShortageThatNoPlanHelpsAgainstDelaysNothing) {
  run_first_attempt();
  run_out_of_memory(2, 1, {.planned_bytes = 0, .used_bytes = 131});
  stopped(0, 1);
  stopped(1, 1);
  give(Tick{});
  EXPECT_EQ(state().phase(), Phase::kOpeningMaster);
}

TEST_F(CoordinatorTest, OfTwoDeathsTheEarlierOneIsToBlame) {
  run_first_attempt();
  die(3, 1, 5, 0, 1000);
  die(1, 1, -1, SIGSEGV, 2000);
  stopped(0, 1);
  stopped(1, 1);
  EXPECT_EQ(events()[0].rank(), 1);
  EXPECT_THAT(events()[0].message(), HasSubstr("SIGSEGV"));
}

TEST_F(CoordinatorTest, ARankThatLostItsConnectionIsNotToBlame) {
  run_first_attempt();
  fail(0, 1, reasons::kRankCommunication);
  die(2, 1, -1, SIGKILL);
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
  EXPECT_EQ(state().phase(), Phase::kRunning) << "the cause may follow";
  pass_alive(milliseconds(500), {0});
  EXPECT_EQ(state().phase(), Phase::kStopping);
  stopped(0, 1);
  pass_alive(seconds(5), {0});
  EXPECT_EQ(events()[0].reason(), reasons::kPodLost);
}

TEST_F(CoordinatorTest, ARankThatDiesIsToBlameThoughOthersMissItFirst) {
  run_first_attempt();
  fail(0, 1, reasons::kRankCommunication);
  pass(milliseconds(499));
  die(1, 1, 0, SIGKILL);
  EXPECT_EQ(state().phase(), Phase::kStopping);
  stopped(0, 1);
  stopped(1, 1);
  EXPECT_EQ(events()[0].rank(), 1);
  EXPECT_EQ(events()[0].reason(), reasons::kRankFailed);
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

TEST_F(CoordinatorTest, OfTwoAgentsOfANodeTheOneForTheLaterAttemptStays) {
  run_first_attempt();
  join_as(1, "newer", 2);
  EXPECT_THAT(take_sent(), ElementsAre("101 superseded", "0 stop 1"));
  EXPECT_THAT(cut_, IsEmpty()) << "the older one would miss why it is to end";
  stopped(0, 1);
  pass_alive(seconds(1));
  EXPECT_THAT(take_sent(), ElementsAre("0 open 2"));
  run_attempt(2);
  join(1);
  EXPECT_THAT(take_sent(), ElementsAre("301 superseded"));
  lose(1);
  EXPECT_EQ(state().phase(), Phase::kRunning) << "the newer one is not disturbed";
}

TEST_F(CoordinatorTest, ANewCoordinatorComesToTheSameDecision) {
  join_as(1, "newer", 2);
  join_as(1, "older", 1);
  EXPECT_THAT(take_sent(), ElementsAre("201 superseded"));
  join_as(1, "newer", 2);
  EXPECT_THAT(take_sent(), IsEmpty());
}

TEST_F(CoordinatorTest, OfTwoAgentsForOneAttemptTheLaterOneStaysForGood) {
  join_as(1, "first", 1);
  join_as(1, "second", 1);
  EXPECT_THAT(take_sent(), ElementsAre("101 superseded"));
  join_as(1, "first", 1);
  EXPECT_THAT(take_sent(), ElementsAre("301 superseded"));
  lose(1);
  join_as(1, "second", 1);
  EXPECT_THAT(take_sent(), IsEmpty()) << "it comes back";
}

TEST_F(CoordinatorTest, WhoOnlyAsksIsToldOfANewerAgentAndDisturbsNobody) {
  run_first_attempt();
  const auto ask = [&](const std::string& incarnation, int first_attempt) {
    AgentMessage message;
    message.mutable_hello()->set_job_uid("uid");
    message.mutable_hello()->set_incarnation(incarnation);
    message.mutable_hello()->set_first_attempt(first_attempt);
    message.mutable_hello()->set_only_asks(true);
    give(FromAgent{777, message});
    return take_sent();
  };
  EXPECT_THAT(ask("older", 0), ElementsAre("777 superseded"));
  EXPECT_THAT(ask("newer", 2), IsEmpty());
  EXPECT_THAT(ask("agent of 0", 1), IsEmpty()) << "itself";
  give(ConnectionLost{777});
  EXPECT_EQ(state().phase(), Phase::kRunning);
}

TEST_F(CoordinatorTest, AnAttemptThatANodeRefusesFailsAtOnceAndSaysWhy) {
  run_first_attempt();
  refuse(1, 1, "no memory");
  EXPECT_THAT(take_sent(), ElementsAre("0 stop 1", "1 stop 1"));
  stopped(0, 1);
  ASSERT_EQ(events().size(), 1U);
  EXPECT_EQ(events()[0].reason(), reasons::kRankFailed);
  EXPECT_TRUE(events()[0].counts());
  EXPECT_THAT(events()[0].message(), HasSubstr("node 1 cannot start its ranks: no memory; restarting"));
}

TEST_F(CoordinatorTest, AMeetingPointThatCannotBeOpenedIsToldAndTriedAgainWithPauses) {
  join(0);
  join(1);
  refuse(0, 1, "no place for the ranks to meet", 6);
  EXPECT_THAT(events().back().message(), HasSubstr("no place for the ranks to meet"));
  EXPECT_THAT(take_sent(), ::testing::Contains("0 open 7")) << "after the highest attempt that it has seen";
  refuse(0, 7, "no place for the ranks to meet", 7);
  EXPECT_EQ(state().phase(), Phase::kBackingOff);
  take_sent();
  pass_alive(seconds(1));
  EXPECT_THAT(take_sent(), ElementsAre("0 open 8"));
}

TEST_F(CoordinatorTest, ARefusalOfAnOldAttemptChangesNothing) {
  run_first_attempt();
  refuse(1, 0, "late");
  EXPECT_EQ(state().phase(), Phase::kRunning);
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

TEST_F(CoordinatorTest, ARankThatEndsEarlyWithoutAWordHasFailed) {
  run_first_attempt();
  die(1, 1, 0);
  EXPECT_EQ(state().phase(), Phase::kStopping);
  stopped(0, 1);
  stopped(1, 1);
  EXPECT_THAT(events()[0].message(), HasSubstr("before the last step, with exit code 0"));
}

TEST_F(CoordinatorTest, OfCheckpointsTheFirstRankAloneIsHeard) {
  run_first_attempt();
  const auto checkpoint_of = [&](int rank) {
    AgentMessage message;
    v1alpha1::CheckpointReport& report = *update(message, 1, rank).mutable_checkpoint();
    report.set_outcome(v1alpha1::CheckpointReport::Written);
    report.set_step(500 + rank);
    from(rank / 2, message);
  };
  const auto before = told_.size();
  for (const int rank : {3, 1, 0}) checkpoint_of(rank);
  ASSERT_EQ(told_.size(), before + 1);
  EXPECT_EQ(told_.back().checkpoint().attempt(), 1);
  EXPECT_EQ(told_.back().checkpoint().report().step(), 500);
}

TEST_F(CoordinatorTest, AStepOfTheJobIsToldOnceAllRanksHaveMadeIt) {
  run_first_attempt();
  for (int rank = 0; rank < 3; ++rank) step_of(rank, 1, 1);
  EXPECT_FALSE(told_.back().has_step());
  step_of(3, 1, 1);
  EXPECT_EQ(told_.back().step().step(), 1);
  EXPECT_EQ(told_.back().step().attempt(), 1);
}

TEST_F(CoordinatorTest, AnAttemptTellsWhatTheOnesBeforeItEndedOf) {
  config_.losses_judged_elsewhere = true;
  v1alpha1::FailureRule& rule = *config_.failure_policy.add_rules_list();
  rule.add_on_exit_codes(7);
  rule.set_action(v1alpha1::FailureRule::RestartIgnoringLimit);
  run_first_attempt();
  EXPECT_EQ(told_.back().attempt_started().ended_size(), 0);
  die(0, 1, 7);
  stop_everywhere(1);
  run_attempt(2);
  die(0, 2, 8);
  stop_everywhere(2);
  lose(1);
  join(1);
  run_attempt(4);
  lose(1);
  stopped(0, 4);
  join(1);
  pass_alive(seconds(10));
  run_attempt(5);
  const auto& ended = told_.back().attempt_started().ended();
  ASSERT_EQ(ended.size(), 3) << "attempt 3 never started";
  const auto text = [](const v1alpha1::EndedAttempt& e) {
    return fmt::format("{} {} {}", e.attempt(), e.reason(), e.counts());
  };
  EXPECT_EQ(text(ended[0]), "1 RankFailed false");
  EXPECT_EQ(text(ended[1]), "2 RankFailed true");
  EXPECT_EQ(text(ended[2]), "4 PodLost false");
}

TEST_F(CoordinatorTest, AgentsAreToldHowLongSilenceIsBorne) {
  config_.patience = milliseconds(20'000);
  AgentMessage message;
  message.mutable_hello()->set_job_uid("uid");
  message.mutable_hello()->set_version(agents_version_);
  const Effects effects = state().step(FromAgent{1, message}, now_);
  ASSERT_EQ(effects.size(), 1U);
  EXPECT_EQ(std::get<SendTo>(effects[0]).message.welcome().patience_milliseconds(), 20'000);
  join(0);
  join(1);
  run_attempt(1);
  pass_alive(seconds(20), {0});
  EXPECT_EQ(state().phase(), Phase::kRunning);
  pass_alive(seconds(1), {0});
  EXPECT_EQ(state().phase(), Phase::kStopping);
}

TEST_F(CoordinatorTest, AConnectionSpeaksForOneNode) {
  join(0);
  AgentMessage message;
  message.mutable_hello()->set_job_uid("uid");
  message.mutable_hello()->set_node(1);
  from(0, message);
  EXPECT_THAT(cut_, ::testing::Contains(HasSubstr("speaks for node 0 already")));
  join(1);
  EXPECT_THAT(take_sent(), IsEmpty()) << "node 0 is to come back";
}

// Every input is a few looks, whatever the number of nodes; sweeps over all of them are few.
TEST_F(CoordinatorTest, TheWorkForAGangIsLinearInItsSize) {
  CARAVAN_BY_TURNS();
  constexpr int kNodes = 16'384;
  config_.shape = {.nodes = kNodes, .world_size = kNodes};
  config_.patience = std::chrono::hours(1);
  CoordinatorState gang(config_, now_);
  std::int64_t inputs = 0;
  const auto from_node = [&](int node, const AgentMessage& message) {
    ++inputs;
    gang.step(FromAgent{node + 1, message}, now_);
    gang.step(Tick{}, now_);
  };
  AgentMessage hello;
  hello.mutable_hello()->set_job_uid("uid");
  AgentMessage ready;
  ready.mutable_master_ready()->set_attempt(1);
  for (int node = 0; node < kNodes; ++node) {
    hello.mutable_hello()->set_node(node);
    from_node(node, hello);
  }
  from_node(0, ready);
  ASSERT_EQ(gang.phase(), Phase::kRunning);
  for (int step = 1; step <= 2; ++step) {
    for (int rank = 0; rank < kNodes; ++rank) {
      AgentMessage message;
      update(message, 1, rank).mutable_step()->set_step(step);
      from_node(rank, message);
    }
  }
  for (int rank = 0; rank < kNodes; ++rank) from_node(rank, exit_of(rank, 1, 1));
  AgentMessage stopped;
  stopped.mutable_attempt_stopped()->set_attempt(1);
  for (int node = 0; node < kNodes; ++node) from_node(node, stopped);
  EXPECT_EQ(gang.phase(), Phase::kOpeningMaster) << "of the next attempt";
  EXPECT_EQ(inputs, 5 * kNodes + 1);
  EXPECT_LE(gang.looked_at(), 10 * kNodes);
}

TEST_F(CoordinatorTest, HeartbeatsGoToEveryAgent) {
  join(0);
  join(1);
  int beats = 0;
  for (int i = 0; i < 8; ++i) {
    pass(milliseconds(250));
    for (const Effect& effect : state().step(Tick{}, now_)) {
      const auto* send = std::get_if<SendTo>(&effect);
      if (send != nullptr && send->message.has_heartbeat())
        beats += static_cast<int>(send->connections.size());
    }
  }
  EXPECT_EQ(beats, 4) << "two seconds, two agents";
}

}  // namespace
}  // namespace caravan::agent
