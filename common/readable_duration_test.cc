#include "common/readable_duration.h"

#include <gtest/gtest.h>

namespace caravan {
namespace {

TEST(ReadableDuration, ShowsTheTwoLargestUnits) {
  EXPECT_EQ(readable_duration(-1), "0.0s");
  EXPECT_EQ(readable_duration(4.23), "4.2s");
  EXPECT_EQ(readable_duration(9.97), "10s");
  EXPECT_EQ(readable_duration(59.6), "1m00s");
  EXPECT_EQ(readable_duration(200), "3m20s");
  EXPECT_EQ(readable_duration(2 * 3600 + 13 * 60 + 29), "2h13m");
  EXPECT_EQ(readable_duration(3 * 86400 + 4 * 3600), "3d04h");
}

}  // namespace
}  // namespace caravan
