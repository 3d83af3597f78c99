#include "worker/agent/loop_pause.h"

#include <gtest/gtest.h>

namespace caravan::agent {
namespace {

using std::chrono::milliseconds;

const LoopState::TimePoint kNow{std::chrono::hours(1)};

TEST(LoopPause, EndsWithTheNextHeartbeatOrTheNextAttemptToJoin) {
  const LoopState joined{
      .joined = true, .has_ranks = true, .beat_at = kNow + milliseconds(7), .join_at = kNow};
  EXPECT_EQ(loop_pause(joined, kNow), milliseconds(7));
  const LoopState away{.beat_at = kNow, .join_at = kNow + milliseconds(9)};
  EXPECT_EQ(loop_pause(away, kNow), milliseconds(9));
  EXPECT_EQ(loop_pause(away, kNow + milliseconds(20)), milliseconds(0));
}

TEST(LoopPause, IsNeverNothingWhileOnlyRanksThatEndAreWaitedFor) {
  const LoopState over{.over = true, .joined = true, .has_ranks = true, .beat_at = kNow, .join_at = kNow};
  EXPECT_GT(loop_pause(over, kNow + milliseconds(500)), milliseconds(0)) << "no heartbeat is due any more";
  const LoopState lost{.has_ranks = true, .beat_at = kNow, .join_at = kNow};
  EXPECT_GT(loop_pause(lost, kNow), milliseconds(0));
}

}  // namespace
}  // namespace caravan::agent
