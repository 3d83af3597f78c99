#include "report_text/figures.h"

#include <gtest/gtest.h>

#include <limits>

namespace caravan {
namespace {

TEST(Figures, DurationsShowTheirTwoLargestUnits) {
  EXPECT_EQ(readable_duration(-1), "0.0s");
  EXPECT_EQ(readable_duration(4.23), "4.2s");
  EXPECT_EQ(readable_duration(9.97), "10s");
  EXPECT_EQ(readable_duration(59.6), "1m00s");
  EXPECT_EQ(readable_duration(200), "3m20s");
  EXPECT_EQ(readable_duration(2 * 3600 + 13 * 60 + 29), "2h13m");
  EXPECT_EQ(readable_duration(3 * 86400 + 4 * 3600), "3d04h");
}

TEST(Figures, ExponentsAreNotPadded) {
  EXPECT_EQ(readable_exponent(3e-4), "3.0e-4");
  EXPECT_EQ(readable_exponent(0), "0.0e0");
  EXPECT_EQ(readable_exponent(1.2e-10), "1.2e-10");
  EXPECT_EQ(readable_exponent(20), "2.0e1");
  EXPECT_EQ(readable_exponent(std::numeric_limits<double>::quiet_NaN()), "nan");
}

}  // namespace
}  // namespace caravan
