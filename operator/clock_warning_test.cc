#include "operator/clock_warning.h"

#include <gmock/gmock.h>

namespace caravan::controller::testing {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

// One of several API servers may be wrong, and their answers alternate.
TEST(ClockWarning, IsGivenOnceInTenMinutesWhateverOtherServersAnswer) {
  ClockWarning warning;
  const Clock::TimePoint start{};
  EXPECT_EQ(warning.of(0s, start) + warning.of(30s, start) + warning.of(-30s, start), "");
  EXPECT_THAT(warning.of(40s, start), HasSubstr("this machine's clock is 40 s ahead of the API server's"));
  for (const auto ahead : {0s, 40s, 0s, -40s}) EXPECT_EQ(warning.of(ahead, start + 10min - 1s), "");
  EXPECT_THAT(warning.of(-40s, start + 10min),
              HasSubstr("this machine's clock is 40 s behind the API server's"));
  EXPECT_EQ(warning.of(40s, start + 20min - 1s), "");
}

}  // namespace
}  // namespace caravan::controller::testing
