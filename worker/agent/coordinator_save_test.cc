// Checkpoints that somebody asks for: none of a request is lost, and none is made twice.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "worker/agent/testing/coordinator_test_base.h"

namespace caravan::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using v1alpha1::CheckpointReport;

class CoordinatorSaveTest : public testing::CoordinatorTestBase {
 protected:
  // Outcomes and requests of the checkpoints that were told since the last call.
  std::vector<std::string> take_told() {
    std::vector<std::string> told;
    for (const auto& report : std::exchange(told_, {})) {
      if (!report.has_checkpoint()) continue;
      const CheckpointReport& checkpoint = report.checkpoint().report();
      told.push_back(CheckpointReport::Outcome_Name(checkpoint.outcome()) + " " + checkpoint.request());
    }
    return told;
  }
};

TEST_F(CoordinatorSaveTest, ARequestIsPassedToTheFirstRankWhenItComesAndWhenTheRanksStart) {
  give(SaveRequested{"a"});
  join(0);
  join(1);
  take_sent();
  master_ready(1);
  EXPECT_THAT(take_sent(), ElementsAre("0 start 1", "1 start 1", "0 save 1 a"));
  give(SaveRequested{"b"});
  EXPECT_THAT(take_sent(), ElementsAre("0 save 1 b"));
  give(SaveRequested{"b"});
  EXPECT_THAT(take_sent(), IsEmpty()) << "it was passed on, and waits for its answer";
}

TEST_F(CoordinatorSaveTest, ARequestThatTheAttemptDidNotAnswerGoesToTheNextOne) {
  run_first_attempt();
  give(SaveRequested{"a"});
  checkpoint_of(0, 1, CheckpointReport::Written, 3);
  die(1, 1, 1);
  stop_everywhere(1);
  take_sent();
  master_ready(2);
  EXPECT_THAT(take_sent(), ElementsAre("0 start 2", "1 start 2", "0 save 2 a"));
}

TEST_F(CoordinatorSaveTest, AnAnsweredRequestIsAnsweredAgainAndNotMadeAgain) {
  run_first_attempt();
  for (const auto outcome : {CheckpointReport::Written, CheckpointReport::Failed}) {
    const std::string request = CheckpointReport::Outcome_Name(outcome);
    give(SaveRequested{request});
    checkpoint_of(0, 1, outcome, 3, request);
    take_sent();
    EXPECT_THAT(take_told(), ElementsAre(request + " " + request));
    give(SaveRequested{request});
    EXPECT_THAT(take_sent(), IsEmpty());
    EXPECT_THAT(take_told(), ElementsAre("Answered " + request));
  }
  die(1, 1, 1);
  stop_everywhere(1);
  take_sent();
  master_ready(2);
  EXPECT_THAT(take_sent(), ElementsAre("0 start 2", "1 start 2"));
}

// The coordinator died with the attempt that answered, and nobody heard the answer.
TEST_F(CoordinatorSaveTest, WhatACheckpointHasAnsweredIsKnownWhenItIsResumed) {
  run_first_attempt();
  checkpoint_of(0, 1, CheckpointReport::Resumed, 3, "a");
  take_told();
  give(SaveRequested{"a"});
  EXPECT_THAT(take_sent(), IsEmpty());
  EXPECT_THAT(take_told(), ElementsAre("Answered a"));

  give(SaveRequested{"b"});
  checkpoint_of(0, 1, CheckpointReport::Resumed, 3, "a");
  give(SaveRequested{"b"});
  EXPECT_THAT(take_told(), ElementsAre("Resumed a")) << "that was another one";
}

TEST_F(CoordinatorSaveTest, ARequestWithoutANameIsPassedOnOnceAndRemembersNothing) {
  run_first_attempt();
  give(SaveRequested{});
  EXPECT_THAT(take_sent(), ElementsAre("0 save 1 "));
  give(SaveRequested{});
  EXPECT_THAT(take_sent(), ElementsAre("0 save 1 "));
}

}  // namespace
}  // namespace caravan::agent
