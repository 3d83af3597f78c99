#include "worker/trainer/loop/save_interval.h"

#include <gtest/gtest.h>

namespace caravan::trainer {
namespace {

constexpr double kHour = 3600;

TEST(SaveInterval, IsTheRootOfStallAndTimeBetweenFailures) {
  // 1.82e8 s for a rank: 11,134 s for 16,384.
  EXPECT_NEAR(best_save_interval({.stall_seconds = 1}, {.ranks = 16'384}), 149.2, 0.1);
  EXPECT_NEAR(best_save_interval({.stall_seconds = 4}, {.ranks = 16'384}), 298.5, 0.1);
}

TEST(SaveInterval, IsShorterForWhoeverHasSeenRestarts) {
  const double calm = best_save_interval({.stall_seconds = 1}, {.ranks = 1024, .run_seconds = kHour});
  const double rough =
      best_save_interval({.stall_seconds = 1}, {.ranks = 1024, .restarts = 3, .run_seconds = kHour});
  EXPECT_NEAR(calm / rough, 2, 1e-9);
  EXPECT_GT(best_save_interval({.stall_seconds = 1}, {.ranks = 1024, .run_seconds = 100 * kHour}), calm);
}

TEST(SaveInterval, StaysBetweenAMinuteAndAnHourAndLeavesTimeToWrite) {
  EXPECT_EQ(best_save_interval({.stall_seconds = 0}, {.ranks = 8}), 60);
  EXPECT_EQ(best_save_interval({.stall_seconds = 1}, {.ranks = 8}), kHour);
  EXPECT_EQ(best_save_interval({.seconds = 3000, .stall_seconds = 1}, {.ranks = 8}), 6000);
}

TEST(SaveInterval, IsWhatTheUserSays) {
  const CheckpointOptions steps{.path = "/c", .every_steps = 10};
  EXPECT_TRUE(save_is_due(steps, 20, 0, {}, {}));
  EXPECT_FALSE(save_is_due(steps, 21, 1e9, {}, {}));
  const CheckpointOptions seconds{.path = "/c", .every_seconds = 30};
  EXPECT_FALSE(save_is_due(seconds, 20, 29.9, {}, {}));
  EXPECT_TRUE(save_is_due(seconds, 20, 30, {}, {}));
  const CheckpointOptions open{.path = "/c"};
  EXPECT_FALSE(save_is_due(open, 20, 149, {}, {.ranks = 16'384}));
  EXPECT_TRUE(save_is_due(open, 20, 150, {}, {.ranks = 16'384}));
}

}  // namespace
}  // namespace caravan::trainer
