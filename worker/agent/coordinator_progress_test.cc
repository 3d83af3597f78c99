// Of a gang that hangs the rank is named that holds it up; of one that is slow, the slow rank.
#include <gmock/gmock.h>

#include "worker/agent/report_backlog.h"
#include "worker/agent/testing/coordinator_test_base.h"

namespace caravan::agent::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class CoordinatorProgressTest : public CoordinatorTestBase {
 protected:
  CoordinatorProgressTest() { config_.steps = 1000; }

  void make_steps(int first, int last) {
    for (int step = first; step <= last; ++step) step_of_all(1, step);
  }
  // The limit that steps of 0.1 s make.
  void pass_the_limit() { pass_alive(seconds(31)); }
};

TEST_F(CoordinatorProgressTest, RanksAreAskedAndTheOneThatDoesNotAnswerIsNamed) {
  run_first_attempt();
  make_steps(1, 3);
  pass_alive(seconds(30));
  EXPECT_THAT(take_sent(), IsEmpty());
  pass_alive(seconds(1));
  EXPECT_THAT(take_sent(), ElementsAre("0 ask 1", "1 ask 1"));
  for (const int rank : {0, 1, 3}) activity_of(rank, 1, "communication", 30, "all_reduce");
  pass_alive(seconds(4));
  EXPECT_EQ(state().phase(), Phase::kRunning) << "it may still answer";
  pass_alive(seconds(1));
  EXPECT_EQ(state().phase(), Phase::kStopping);
  stop_everywhere(1);
  ASSERT_EQ(events().size(), 1U);
  EXPECT_EQ(events()[0].reason(), reasons::kStalled);
  EXPECT_EQ(events()[0].rank(), 2);
  EXPECT_EQ(events()[0].suspect_node(), 1);
  EXPECT_EQ(events()[0].silent_seconds(), 36) << "until the ranks were stopped";
  EXPECT_TRUE(events()[0].restarting());
  EXPECT_THAT(
      events()[0].message(),
      HasSubstr(
          "no step finished for 30 s after step 3 (steps take 0.1 s): rank 2 on node 1 does not answer; 3 "
          "others wait in all_reduce over data (3)"));
  run_attempt(2);
}

TEST_F(CoordinatorProgressTest, WhenAllHaveAnsweredTheAttemptEndsAtOnce) {
  run_first_attempt();
  make_steps(1, 3);
  pass_the_limit();
  for (const int rank : {0, 1, 2}) activity_of(rank, 1, "communication", 30, "all_reduce");
  activity_of(0, 1, "communication", 30, "all_reduce");
  EXPECT_EQ(state().phase(), Phase::kRunning) << "the first rank answered twice, the last not at all";
  activity_of(3, 1, "forward", 30);
  EXPECT_EQ(state().phase(), Phase::kStopping);
  stop_everywhere(1);
  EXPECT_EQ(events()[0].rank(), 3);
  EXPECT_THAT(events()[0].message(),
              HasSubstr("rank 3 on node 1 has been in forward for 30 s; 3 others wait"));
}

TEST_F(CoordinatorProgressTest, ANodeThatIsSilentAsAWholeIsWaitedForAsLongAsPatienceIs) {
  config_.patience = seconds(60);
  run_first_attempt();
  make_steps(1, 3);
  pass_alive(seconds(45), {0});
  EXPECT_EQ(state().phase(), Phase::kRunning) << "the network may come back";
  pass_alive(seconds(16), {0});
  stopped(0, 1);
  ASSERT_EQ(events().size(), 1U);
  EXPECT_EQ(events()[0].reason(), reasons::kPodLost);
}

TEST_F(CoordinatorProgressTest, ANodeThatComesBackHasAsLongForAStepAsWithoutItsSilence) {
  config_.patience = seconds(60);
  run_first_attempt();
  make_steps(1, 3);
  pass_alive(seconds(45), {0});
  pass_alive(seconds(30));
  EXPECT_THAT(take_sent(), IsEmpty()) << "what was lost is sent again";
  pass_alive(seconds(1));
  EXPECT_THAT(take_sent(), ElementsAre("0 ask 1", "1 ask 1"));
  make_steps(4, 4);
  pass_alive(seconds(20));
  EXPECT_EQ(state().phase(), Phase::kRunning);
  EXPECT_THAT(events(), IsEmpty());
}

TEST_F(CoordinatorProgressTest, AStepThatFinishesWhileRanksAreAskedEndsTheAlarm) {
  run_first_attempt();
  make_steps(1, 3);
  pass_the_limit();
  activity_of(0, 1, "forward", 0.1);
  make_steps(4, 4);
  pass_alive(seconds(20));
  EXPECT_EQ(state().phase(), Phase::kRunning);
  take_sent();
  pass_alive(seconds(11));
  EXPECT_THAT(take_sent(), ElementsAre("0 ask 1", "1 ask 1")) << "asked anew";
  pass_alive(seconds(5));
  stop_everywhere(1);
  EXPECT_THAT(events()[0].message(),
              HasSubstr("rank 0 on node 0, rank 1 on node 0, rank 2 on node 1 and 1 more do not"))
      << "what rank 0 said before is no answer";
  EXPECT_FALSE(events()[0].has_suspect_node());
}

TEST_F(CoordinatorProgressTest, AnAnswerThatNobodyAskedForIsNothing) {
  run_first_attempt();
  make_steps(1, 3);
  activity_of(1, 1, "forward", 0.1);
  pass_the_limit();
  pass_alive(seconds(5));
  stop_everywhere(1);
  EXPECT_THAT(events()[0].message(), HasSubstr("rank 0 on node 0, rank 1 on node 0"));
}

TEST_F(CoordinatorProgressTest, RanksThatHaveEndedAreNotWaitedFor) {
  config_.steps = 3;
  run_first_attempt();
  make_steps(1, 3);
  finish(0, 1, 3);
  finish(2, 1, 3);
  pass_the_limit();
  activity_of(1, 1, "idle", 30);
  activity_of(3, 1, "communication", 30, "barrier");
  EXPECT_EQ(state().phase(), Phase::kStopping);
  stop_everywhere(1);
  EXPECT_EQ(events()[0].rank(), 1);
}

TEST_F(CoordinatorProgressTest, RanksThatEndWhileTheyAreAskedEndTheJob) {
  config_.steps = 3;
  run_first_attempt();
  make_steps(1, 3);
  pass_the_limit();
  for (int rank = 0; rank < 4; ++rank) finish(rank, 1, 3);
  EXPECT_EQ(exit_code_, 0);
  EXPECT_TRUE(events().empty());
}

TEST_F(CoordinatorProgressTest, RanksThatHaveAllFinishedHaveTheWholeTimeoutForTheirEnd) {
  config_.steps = 3;
  config_.stall_timeout = seconds(100);
  run_first_attempt();
  make_steps(1, 3);
  for (int rank = 0; rank < 4; ++rank) say_finished(rank, 1, 3);
  pass_alive(seconds(99));
  EXPECT_EQ(state().phase(), Phase::kRunning);
  EXPECT_THAT(take_sent(), IsEmpty());
  for (int rank = 0; rank < 4; ++rank) die(rank, 1, 0);
  EXPECT_EQ(exit_code_, 0);
}

TEST_F(CoordinatorProgressTest, ARankThatHasFinishedAndDoesNotEndIsNamed) {
  config_.steps = 3;
  config_.stall_timeout = seconds(100);
  run_first_attempt();
  make_steps(1, 3);
  for (int rank = 0; rank < 4; ++rank) say_finished(rank, 1, 3);
  for (const int rank : {0, 1, 3}) die(rank, 1, 0);
  say_finished(2, 1, 3);  // again
  pass_alive(seconds(107));
  EXPECT_EQ(state().phase(), Phase::kStopping);
  stop_everywhere(1);
  ASSERT_EQ(events().size(), 1U);
  EXPECT_EQ(events()[0].reason(), reasons::kStalled);
  EXPECT_EQ(events()[0].rank(), 2);
}

TEST_F(CoordinatorProgressTest, WhatIsNoStepHasTheWholeTimeout) {
  config_.stall_timeout = seconds(100);
  run_first_attempt();
  make_steps(1, 3);
  interlude_of(0, 1, 4);
  pass_alive(seconds(99));
  EXPECT_EQ(state().phase(), Phase::kRunning);
  EXPECT_THAT(take_sent(), IsEmpty());
  make_steps(4, 4);
  pass_the_limit();
  EXPECT_THAT(take_sent(), ElementsAre("0 ask 1", "1 ask 1")) << "the next step has the usual time again";
}

// As a checkpoint behind the last step, of which a little more is written.
TEST_F(CoordinatorProgressTest, WhatIsAnnouncedAgainHasTheTimeoutAnew) {
  config_.stall_timeout = seconds(100);
  run_first_attempt();
  make_steps(1, 3);
  for (int again = 0; again < 3; ++again) {
    interlude_of(0, 1, 4);
    pass_alive(seconds(99));
  }
  EXPECT_THAT(take_sent(), IsEmpty());
  pass_alive(seconds(2));
  EXPECT_THAT(take_sent(), ElementsAre("0 ask 1", "1 ask 1"));
}

TEST_F(CoordinatorProgressTest, OfTwoRanksThatAnnounceTheFirstSpeaksForAll) {
  config_.stall_timeout = seconds(100);
  run_first_attempt();
  make_steps(1, 3);
  interlude_of(1, 1, 4);
  pass_the_limit();
  EXPECT_THAT(take_sent(), ElementsAre("0 ask 1", "1 ask 1"));
}

TEST_F(CoordinatorProgressTest, TheStartOfEachAttemptHasTheWholeTimeout) {
  config_.stall_timeout = seconds(100);
  run_first_attempt();
  make_steps(1, 5);
  die(0, 1, 1);
  stop_everywhere(1);
  run_attempt(2);
  pass_alive(seconds(99));
  EXPECT_EQ(state().phase(), Phase::kRunning);
  pass_alive(seconds(7));
  stop_everywhere(2);
  EXPECT_THAT(events().back().message(),
              HasSubstr("no step finished for 100 s (stallTimeoutSeconds) since attempt 2 began"));
}

TEST_F(CoordinatorProgressTest, ADeathWhileRanksAreAskedIsTheCause) {
  run_first_attempt();
  make_steps(1, 3);
  pass_the_limit();
  die(3, 1, 1);
  stop_everywhere(1);
  EXPECT_EQ(events()[0].reason(), reasons::kRankFailed);
}

TEST_F(CoordinatorProgressTest, TheNextAttemptHearsWhoseMachineWasToBlame) {
  run_first_attempt();
  die(3, 1, 0, SIGSEGV);
  stop_everywhere(1);
  EXPECT_EQ(events()[0].suspect_node(), 1);
  run_attempt(2);
  const v1alpha1::AttemptStarted& started = told_.back().attempt_started();
  ASSERT_EQ(started.ended_size(), 1);
  EXPECT_EQ(started.ended(0).suspect_node(), 1);
}

TEST_F(CoordinatorProgressTest, StepsAreToldWithWhatStepsTake) {
  // What all ranks have made.
  const auto step_that_takes = [&](double seconds, int attempt, int number) {
    for (int rank = 0; rank < 4; ++rank) {
      AgentMessage message;
      v1alpha1::StepReport& report = *update(message, attempt, rank).mutable_step();
      report.set_step(number);
      report.set_seconds(seconds);
      from(rank / 2, message);
    }
    return told_.back().step();
  };
  run_first_attempt();
  EXPECT_FALSE(step_that_takes(9, 1, 1).has_mean_seconds()) << "it warms up";
  const v1alpha1::JobStep second = step_that_takes(2, 1, 2);
  EXPECT_FALSE(second.has_usual_seconds());
  EXPECT_EQ(second.mean_seconds(), 2);
  for (const int number : {3, 4}) EXPECT_EQ(step_that_takes(2, 1, number).usual_seconds(), 2);
  interlude_of(0, 1, 6);  // such as the wait for a checkpoint behind the step that is told next
  const v1alpha1::JobStep evaluated = step_that_takes(8, 1, 5);
  EXPECT_EQ(evaluated.seconds(), 8);
  EXPECT_EQ(evaluated.usual_seconds(), 2);
  EXPECT_EQ(evaluated.mean_seconds(), (2 + 2 + 2 + 8) / 4.0);
  die(0, 1, 1);
  stop_everywhere(1);
  run_attempt(2);
  const v1alpha1::JobStep again = step_that_takes(9, 2, 1);
  EXPECT_FALSE(again.has_usual_seconds());
  EXPECT_EQ(again.mean_seconds(), evaluated.mean_seconds()) << "it warms up";
}

TEST_F(CoordinatorProgressTest, AfterAReconnectionTheLastCheckpointsAreToldWithTheirAge) {
  using Checkpoint = v1alpha1::CheckpointReport;
  LatestReports latest;
  const auto told_again = [&] {
    for (const v1alpha1::JobReport& report : std::exchange(told_, {})) latest.add(report, now_);
    std::vector<std::string> told;
    for (const v1alpha1::JobReport& report : latest.reports(now_)) {
      if (report.has_attempt_started())
        told.push_back(fmt::format("attempt {}", report.attempt_started().attempt()));
      if (!report.has_checkpoint()) continue;
      const v1alpha1::JobCheckpoint& checkpoint = report.checkpoint();
      told.push_back(fmt::format("{} {}, {:.0f} s ago",
                                 Checkpoint::Outcome_Name(checkpoint.report().outcome()),
                                 checkpoint.report().step(), checkpoint.seconds_ago()));
    }
    return told;
  };
  run_first_attempt();
  checkpoint_of(0, 1, Checkpoint::Resumed, 10);
  checkpoint_of(0, 1, Checkpoint::Failed, 20);
  checkpoint_of(0, 1, Checkpoint::Written, 30);
  EXPECT_THAT(told_again(), ElementsAre("Written 30, 0 s ago", "attempt 1", "Resumed 10, 0 s ago"));
  pass_alive(seconds(20));
  checkpoint_of(0, 1, Checkpoint::Failed, 40);
  EXPECT_THAT(told_again(),
              ElementsAre("Written 30, 20 s ago", "Failed 40, 0 s ago", "attempt 1", "Resumed 10, 20 s ago"));
  die(0, 1, 1);
  stop_everywhere(1);
  run_attempt(2);
  EXPECT_THAT(told_again(), ElementsAre("Written 30, 30 s ago", "Failed 40, 10 s ago", "attempt 2"));
}

TEST(LatestReports, WhatCheckpointsCostIsToldUntilItIsRead) {
  LatestReports latest;
  v1alpha1::JobReport saved;
  saved.mutable_checkpoint()->mutable_report()->set_outcome(v1alpha1::CheckpointReport::Written);
  saved.mutable_checkpoint()->mutable_report()->set_stall_seconds(2);
  latest.add(saved, {});
  const auto told = [&] { return latest.reports({}).at(0).checkpoint().report().stall_seconds(); };
  EXPECT_EQ(told(), 2);
  latest.note_read();
  EXPECT_EQ(told(), 0);
}

class StragglerTest : public CoordinatorProgressTest {
 protected:
  StragglerTest() { config_.ranks_per_stage = 2; }

  void make_slow_steps(int first, int last) {
    for (int step = first; step <= last; ++step) {
      for (int rank = 0; rank < 4; ++rank) step_of(rank, 1, step, rank == 3 ? 1.5 : 1.0);
    }
  }
};

TEST_F(StragglerTest, IsNamedOnceAndTrainingGoesOn) {
  run_first_attempt();
  make_slow_steps(1, 19);
  EXPECT_TRUE(events().empty());
  make_slow_steps(20, 60);
  ASSERT_EQ(events().size(), 1U);
  EXPECT_EQ(events()[0].reason(), reasons::kStraggler);
  EXPECT_EQ(events()[0].rank(), 3);
  EXPECT_EQ(events()[0].attempt(), 1);
  EXPECT_FALSE(events()[0].restarting());
  EXPECT_THAT(events()[0].message(), HasSubstr("rank 3 on node 1"));
  EXPECT_EQ(state().phase(), Phase::kRunning);
}

TEST_F(StragglerTest, AgentsHearTheRatiosOfTheirRanksEveryFiveSeconds) {
  run_first_attempt();
  make_slow_steps(1, 1);
  EXPECT_THAT(take_sent(), IsEmpty());
  pass_alive(seconds(5));
  make_slow_steps(2, 3);
  EXPECT_THAT(take_sent(), ElementsAre("0 ratios 1 1", "1 ratios 0.6666666666666666 1.5"));
}

TEST_F(StragglerTest, AfterAReconnectionItIsToldBesideTheLastFailure) {
  LatestReports latest;
  run_first_attempt();
  die(0, 1, 1);
  stop_everywhere(1);
  run_attempt(2);
  for (int step = 1; step <= 20; ++step) {
    for (int rank = 0; rank < 4; ++rank) step_of(rank, 2, step, rank == 3 ? 1.5 : 1.0);
  }
  for (const v1alpha1::JobReport& report : told_) latest.add(report, now_);
  std::vector<std::string> reasons;
  for (const v1alpha1::JobReport& report : latest.reports(now_)) {
    if (report.has_event()) reasons.push_back(report.event().reason());
  }
  EXPECT_THAT(reasons, ElementsAre(reasons::kRankFailed, reasons::kStraggler));
  v1alpha1::JobReport next;
  next.mutable_attempt_started()->set_attempt(3);
  latest.add(next, now_);
  EXPECT_EQ(latest.reports(now_).size(), 2U) << "the failure and the attempt";
}

}  // namespace
}  // namespace caravan::agent::testing
