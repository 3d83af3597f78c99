#include "common/readable_percent.h"

#include <gtest/gtest.h>

namespace caravan {
namespace {

TEST(ReadablePercent, HasOneDigitBehindThePoint) {
  EXPECT_EQ(readable_percent(0), "0.0 %");
  EXPECT_EQ(readable_percent(0.4172), "41.7 %");
  EXPECT_EQ(readable_percent(1), "100.0 %");
}

TEST(ReadablePercent, OfWhatIsRoughlyKnownHasOneOnlyBelowOne) {
  EXPECT_EQ(readable_rough_percent(0), "0 %");
  EXPECT_EQ(readable_rough_percent(0.0058), "0.6 %");
  EXPECT_EQ(readable_rough_percent(0.00996), "1 %");
  EXPECT_EQ(readable_rough_percent(0.12), "12 %");
}

}  // namespace
}  // namespace caravan
