#include "cli/cluster/durations.h"

#include <gtest/gtest.h>

namespace caravan::cli {
namespace {

TEST(Durations, HaveUnits) {
  EXPECT_EQ(parse_duration("90", "--since"), std::chrono::seconds(90));
  EXPECT_EQ(parse_duration("15m", "--since"), std::chrono::minutes(15));
  EXPECT_EQ(parse_duration("2h", "--since"), std::chrono::hours(2));
  EXPECT_EQ(parse_duration("1d", "--since"), std::chrono::hours(24));
  for (const char* wrong : {"", "0", "-1s", "1w", "m", "1.5h", "99999999d"})
    EXPECT_FALSE(parse_duration(wrong, "--since")) << wrong;
}

}  // namespace
}  // namespace caravan::cli
