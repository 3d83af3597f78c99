#include "worker/agent/coordinator_state.h"

#include <gmock/gmock.h>

#include <csignal>

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
