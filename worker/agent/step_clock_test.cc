#include "worker/agent/step_clock.h"

#include <gtest/gtest.h>

namespace caravan::agent {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using Seconds = StepClock::Seconds;

constexpr seconds kTimeout{600};

class StepClockTest : public ::testing::Test {
 protected:
  StepClockTest() { clock_.start(now_); }

  void finish(int step, double seconds) { clock_.finish_step(step, seconds, now_); }

  StepClock::TimePoint now_{std::chrono::hours(100)};
  StepClock clock_;
};

TEST_F(StepClockTest, UntilTheThirdStepTheTimeoutAloneHolds) {
  EXPECT_EQ(clock_.limit(kTimeout), kTimeout);
  finish(1, 20);
  finish(2, 20);
  EXPECT_EQ(clock_.limit(kTimeout), kTimeout);
  EXPECT_FALSE(clock_.usual_seconds());
  finish(3, 20);
  EXPECT_EQ(clock_.limit(kTimeout), seconds(60));
  EXPECT_EQ(clock_.usual_seconds(), 20);
}

TEST_F(StepClockTest, TheLimitIsThreeStepsWithinThirtySecondsAndTheTimeout) {
  struct Case {
    double step_seconds;
    Seconds limit;
  };
  for (const Case& c : {Case{0.01, seconds(30)}, {10, seconds(30)}, {11, seconds(33)}, {1000, kTimeout}}) {
    clock_.start(now_);
    for (int step = 1; step <= 3; ++step) finish(step, c.step_seconds);
    EXPECT_EQ(clock_.limit(kTimeout), c.limit) << c.step_seconds;
  }
  EXPECT_EQ(clock_.limit(seconds(5)), seconds(5)) << "users may ask for less than 30 s";
}

TEST_F(StepClockTest, OneLongStepIsNotTheUsualOne) {
  for (int step = 1; step <= 9; ++step) finish(step, step == 5 ? 500 : 20);
  EXPECT_EQ(clock_.limit(kTimeout), seconds(60));
}

TEST_F(StepClockTest, FollowsStepsThatBecomeLonger) {
  for (int step = 1; step <= 100; ++step) finish(step, 20);
  for (int step = 101; step <= 160; ++step) finish(step, 40);
  EXPECT_EQ(clock_.limit(kTimeout), seconds(120));
}

TEST_F(StepClockTest, AStepThatIsDelayedForWhatIsNoStepHasTheWholeTimeout) {
  for (int step = 1; step <= 3; ++step) finish(step, 20);
  clock_.expect_delay(5);
  EXPECT_EQ(clock_.limit(kTimeout), kTimeout);
  EXPECT_EQ(clock_.usual_seconds(), 20);
  finish(4, 20);
  EXPECT_EQ(clock_.limit(kTimeout), kTimeout) << "the announcement came before the fourth step was whole";
  finish(5, 20);
  EXPECT_EQ(clock_.limit(kTimeout), seconds(60));
}

TEST_F(StepClockTest, AnAttemptKnowsNothingOfTheOneBefore) {
  for (int step = 1; step <= 3; ++step) finish(step, 20);
  clock_.expect_delay(9);
  clock_.start(now_ + minutes(1));
  EXPECT_FALSE(clock_.usual_seconds());
  for (int step = 1; step <= 3; ++step) finish(step, 20);
  EXPECT_EQ(clock_.limit(kTimeout), seconds(60));
}

TEST_F(StepClockTest, IsOverdueWhenTheLimitIsOver) {
  for (int step = 1; step <= 3; ++step) finish(step, 20);
  EXPECT_FALSE(clock_.is_overdue(kTimeout, now_ + seconds(60)));
  EXPECT_TRUE(clock_.is_overdue(kTimeout, now_ + seconds(61)));
  clock_.note_progress(now_ + seconds(50));
  EXPECT_FALSE(clock_.is_overdue(kTimeout, now_ + seconds(61)));
}

}  // namespace
}  // namespace caravan::agent
