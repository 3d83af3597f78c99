#include "report_text/readable_exponent.h"

#include <gtest/gtest.h>

#include <limits>

namespace caravan {
namespace {

TEST(ReadableExponent, IsNotPadded) {
  EXPECT_EQ(readable_exponent(3e-4), "3.0e-4");
  EXPECT_EQ(readable_exponent(0), "0.0e0");
  EXPECT_EQ(readable_exponent(1.2e-10), "1.2e-10");
  EXPECT_EQ(readable_exponent(20), "2.0e1");
  EXPECT_EQ(readable_exponent(std::numeric_limits<double>::quiet_NaN()), "nan");
}

}  // namespace
}  // namespace caravan
