#include "kube/api/timestamp.h"

#include <gtest/gtest.h>

namespace caravan::kube {
namespace {

using namespace std::chrono_literals;

constexpr Clock::WallTime kTime{1'700'000'000s + 250ms};

TEST(Timestamp, HasMicrosecondsAndComesBackTheSame) {
  EXPECT_EQ(to_timestamp(kTime), "2023-11-14T22:13:20.250000Z");
  EXPECT_EQ(parse_timestamp(to_timestamp(kTime)), kTime);
}

TEST(Timestamp, ReadsOffsetsAndAnyFraction) {
  EXPECT_EQ(parse_timestamp("2023-11-15T00:13:20.25+02:00"), kTime);
  EXPECT_EQ(parse_timestamp("2023-11-14T20:13:20.2500000000-02:00"), kTime);
  EXPECT_EQ(parse_timestamp("2023-11-14T22:13:20Z"), kTime - 250ms);
}

TEST(Timestamp, KeepsAnyYearWithinWhatMayBeCountedWith) {
  const auto early = parse_timestamp("1013-01-02T03:04:05Z");
  const auto late = parse_timestamp("9999-12-31T23:59:59Z");
  ASSERT_TRUE(early && late);
  EXPECT_EQ(to_timestamp(*early), "1970-01-01T00:00:00.000000Z");
  EXPECT_EQ(to_timestamp(*late), "2255-03-14T16:00:00.000000Z");
  EXPECT_GT(*late - kTime, 200 * 365 * 24h);
  EXPECT_LT(*early - kTime, 0h);
}

TEST(Timestamp, RefusesWhatIsNone) {
  for (const std::string_view text :
       {"", "yesterday", "2023-11-14", "2023-11-14T22:13:20", "2023-11-14T22:13:20 UTC"}) {
    EXPECT_FALSE(parse_timestamp(text)) << text;
  }
}

TEST(HttpDate, IsReadToTheSecond) {
  EXPECT_EQ(parse_http_date("Tue, 14 Nov 2023 22:13:20 GMT"), kTime - 250ms);
  for (const std::string_view text : {"", "2023-11-14T22:13:20Z", "Tue, 14 Nov 2023 22:13:20", "yesterday"})
    EXPECT_FALSE(parse_http_date(text)) << text;
}

}  // namespace
}  // namespace caravan::kube
