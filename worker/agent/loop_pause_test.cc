#include "worker/agent/loop_pause.h"

#include <gtest/gtest.h>

namespace caravan::agent {
namespace {

using std::chrono::milliseconds;

const LoopState::TimePoint kStart{std::chrono::hours(1)};

TEST(LoopPause, EndsWithTheNextHeartbeatOrTheNextAttemptToJoin) {
  const LoopState joined{
      .joined = true, .has_ranks = true, .beat_at = kStart + milliseconds(7), .join_at = kStart};
  EXPECT_EQ(loop_pause(joined, kStart), milliseconds(7));
  const LoopState away{.beat_at = kStart, .join_at = kStart + milliseconds(9)};
  EXPECT_EQ(loop_pause(away, kStart), milliseconds(9));
  EXPECT_EQ(loop_pause(away, kStart + milliseconds(20)), milliseconds(0));
}

TEST(LoopPause, IsNeverNothingWhileOnlyRanksThatEndAreWaitedFor) {
  const LoopState over{.over = true, .joined = true, .has_ranks = true, .beat_at = kStart, .join_at = kStart};
  EXPECT_GT(loop_pause(over, kStart + milliseconds(500)), milliseconds(0)) << "no heartbeat is due any more";
  const LoopState lost{.has_ranks = true, .beat_at = kStart, .join_at = kStart};
  EXPECT_GT(loop_pause(lost, kStart), milliseconds(0));
}

}  // namespace
}  // namespace caravan::agent
