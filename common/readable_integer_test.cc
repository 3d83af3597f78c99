#include "common/readable_integer.h"

#include <gtest/gtest.h>

namespace caravan {
namespace {

TEST(ReadableInteger, HasCommasBetweenThousands) {
  EXPECT_EQ(readable_integer(0), "0");
  EXPECT_EQ(readable_integer(999), "999");
  EXPECT_EQ(readable_integer(7123), "7,123");
  EXPECT_EQ(readable_integer(1'234'567), "1,234,567");
  EXPECT_EQ(readable_integer(-123'456), "-123,456");
}

}  // namespace
}  // namespace caravan
