#include "planner/time/save_interval.h"

#include <gtest/gtest.h>

namespace caravan::planner {
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
      best_save_interval({.stall_seconds = 1}, {.ranks = 1024, .attempts_before = 3, .run_seconds = kHour});
  EXPECT_NEAR(calm / rough, 2, 1e-9);
  EXPECT_GT(best_save_interval({.stall_seconds = 1}, {.ranks = 1024, .run_seconds = 100 * kHour}), calm);
}

TEST(SaveInterval, StaysBetweenAMinuteAndAnHourAndLeavesTimeToWrite) {
  EXPECT_EQ(best_save_interval({.stall_seconds = 0}, {.ranks = 8}), 60);
  EXPECT_EQ(best_save_interval({.stall_seconds = 1}, {.ranks = 8}), kHour);
  EXPECT_EQ(best_save_interval({.seconds = 3000, .stall_seconds = 1}, {.ranks = 8}), 6000);
}

}  // namespace
}  // namespace caravan::planner
