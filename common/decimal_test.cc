#include "common/decimal.h"

#include <gmock/gmock.h>

namespace caravan {
namespace {

using ::testing::HasSubstr;

TEST(Decimal, ReadsWhatPeopleWrite) {
  EXPECT_EQ(parse_decimal("3e-4"), 3e-4);
  EXPECT_EQ(parse_decimal("0.95"), 0.95);
  EXPECT_EQ(parse_decimal("-12"), -12);
  EXPECT_EQ(parse_decimal("+1.5E+3"), 1500);
  EXPECT_EQ(parse_decimal("500000"), 500000);
}

TEST(Decimal, RefusesEverythingElseWithAnExample) {
  for (const char* text :
       {"", " 1", "1 ", "nan", "inf", "0x10", "1,5", ".5", "5.", "1e", "e5", "+-1", "1_000", "--1"}) {
    const auto value = parse_decimal(text);
    ASSERT_FALSE(value) << text;
    EXPECT_THAT(value.error().message, HasSubstr("write one such as 0.1")) << text;
    EXPECT_EQ(value.error().code, ExitCode::kBadInput);
  }
}

TEST(Decimal, SaysWhenADoubleCannotHoldIt) {
  ASSERT_FALSE(parse_decimal("1e400"));
  EXPECT_THAT(parse_decimal("1e400").error().message, HasSubstr("too large"));
  EXPECT_FALSE(parse_decimal("1e-400"));
}

}  // namespace
}  // namespace caravan
