#include "worker/trainer/loop/save_interval.h"

#include <gtest/gtest.h>

namespace caravan::trainer {
namespace {

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
