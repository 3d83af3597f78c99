#include "cli/run/run_tally.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace caravan::cli {
namespace {

using testing::ElementsAre;
using testing::Eq;
using testing::Optional;

v1alpha1::JobStep step(int attempt, int number, double seconds, double loss = 1) {
  v1alpha1::JobStep step;
  step.set_attempt(attempt);
  step.set_step(number);
  step.set_seconds(seconds);
  step.set_loss(loss);
  return step;
}

TEST(RunTally, KnowsNothingBeforeTheFirstStep) {
  const RunTally tally;
  EXPECT_EQ(tally.last_step(), 0);
  EXPECT_EQ(tally.first_loss(), std::nullopt);
  EXPECT_EQ(tally.mean_step_seconds(), std::nullopt);
  EXPECT_EQ(tally.remaining_seconds(10), std::nullopt);
}

TEST(RunTally, LeavesTheFirstStepOfEveryAttemptOutOfTheTimes) {
  RunTally tally;
  tally.add(step(1, 1, 100));
  EXPECT_EQ(tally.mean_step_seconds(), std::nullopt);
  tally.add(step(1, 2, 2));
  tally.add(step(1, 3, 4));
  tally.add(step(2, 1, 100));
  tally.add(step(2, 2, 3));
  EXPECT_THAT(tally.mean_step_seconds(), Optional(Eq(3.0)));
  EXPECT_THAT(tally.worst_step_seconds(), Optional(Eq(4.0)));
}

TEST(RunTally, GuessesTheRemainingTimeFromTheFirstStepUntilItHasBetter) {
  RunTally tally;
  tally.add(step(1, 1, 8));
  EXPECT_THAT(tally.remaining_seconds(11), Optional(Eq(80.0)));
  v1alpha1::JobStep second = step(1, 2, 40);
  second.set_mean_seconds(2);
  tally.add(second);
  EXPECT_THAT(tally.remaining_seconds(11), Optional(Eq(18.0)));
}

TEST(RunTally, KeepsTheFirstLossAndTheLastThroughARestart) {
  RunTally tally;
  tally.add(step(1, 1, 1, 5.5));
  tally.add(step(1, 2, 1, 5.0));
  tally.add(step(2, 1, 1, 5.5));
  EXPECT_EQ(tally.last_step(), 1);
  EXPECT_THAT(tally.first_loss(), Optional(Eq(5.5)));
  EXPECT_THAT(tally.last_loss(), Optional(Eq(5.5)));
}

TEST(RunTally, OfARunThatGoesOnKnowsWhereFrom) {
  RunTally tally;
  tally.resume_after(40);
  EXPECT_EQ(tally.last_step(), 40) << "also where nothing was left to do";
  v1alpha1::JobStep step;
  step.set_step(45);
  tally.add(step);
  tally.resume_after(44);
  EXPECT_EQ(tally.resumed_step(), 40) << "later attempts are restarts";
  EXPECT_EQ(tally.last_step(), 44);
}

TEST(RunTally, CountsItsOwnStepsFromWhereTheEarliestAttemptBegan) {
  RunTally tally;
  EXPECT_EQ(tally.own_steps(), 0);
  tally.resume_after(20);
  EXPECT_EQ(tally.own_steps(), 0);
  for (const int number : {21, 22, 23}) tally.add(step(1, number, 1));
  EXPECT_EQ(tally.own_steps(), 3);
  tally.resume_after(15);
  tally.add(step(2, 16, 1));
  EXPECT_EQ(tally.own_steps(), 1) << "a checkpoint may turn out unusable";
  tally.resume_after(20);
  tally.add(step(3, 21, 1));
  EXPECT_EQ(tally.own_steps(), 6);
  tally.add(step(4, 1, 1));
  tally.add(step(4, 2, 1));
  EXPECT_EQ(tally.own_steps(), 2) << "so may all of them";
  EXPECT_EQ(tally.resumed_step(), 20);
}

TEST(RunTally, WeighsTheUtilisationByTime) {
  RunTally tally;
  tally.add(step(1, 1, 1));
  EXPECT_EQ(tally.mfu(), std::nullopt);
  for (const auto& [seconds, mfu] : {std::pair{1.0, 0.4}, std::pair{3.0, 0.2}}) {
    v1alpha1::JobStep measured = step(1, 2, seconds);
    measured.set_mfu(mfu);
    tally.add(measured);
  }
  ASSERT_TRUE(tally.mfu().has_value());
  EXPECT_DOUBLE_EQ(*tally.mfu(), 0.25);
}

TEST(RunTally, KeepsTheHighestPeakOfEveryRank) {
  RunTally tally;
  for (const auto& peaks : {std::pair{10, 7}, std::pair{9, 8}}) {
    v1alpha1::JobStep measured = step(1, 1, 1);
    measured.add_peak_bytes_per_rank(peaks.first);
    measured.add_peak_bytes_per_rank(peaks.second);
    tally.add(measured);
  }
  EXPECT_THAT(tally.peak_bytes_per_rank(), ElementsAre(10, 8));
}

}  // namespace
}  // namespace caravan::cli
