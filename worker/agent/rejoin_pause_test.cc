#include "worker/agent/rejoin_pause.h"

#include <gmock/gmock.h>

namespace caravan::agent {
namespace {

using std::chrono::milliseconds;
using ::testing::AllOf;
using ::testing::Ge;
using ::testing::Le;

TEST(RejoinPause, GrowsToHalfASecondInASmallGangAndNoFurther) {
  Backoff pauses = rejoin_backoff(2);
  EXPECT_THAT(pauses.next(), AllOf(Ge(milliseconds(25)), Le(milliseconds(50))));
  for (int i = 0; i < 100; ++i) EXPECT_THAT(pauses.next(), Le(milliseconds(500)));
  EXPECT_THAT(pauses.next(), Ge(milliseconds(250)));
}

TEST(RejoinPause, AgentsOfALargeGangComeAtFiveHundredASecond) {
  EXPECT_EQ(longest_rejoin_pause(4'000), milliseconds(8'000));
  EXPECT_EQ(longest_rejoin_pause(16'384), milliseconds(30'000));
  EXPECT_THAT(rejoin_backoff(16'384).next(), AllOf(Ge(milliseconds(1'500)), Le(milliseconds(3'000))));
}

}  // namespace
}  // namespace caravan::agent
