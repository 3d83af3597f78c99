#include "common/quantity.h"

#include <gmock/gmock.h>

namespace caravan {
namespace {

using ::testing::HasSubstr;

constexpr std::int64_t kGi = std::int64_t{1} << 30;

TEST(Quantity, ReadsEverySuffix) {
  struct Case {
    const char* text;
    std::int64_t value;
  };
  const Case cases[] = {
      {"0", 0},
      {"1500", 1500},
      {"80Gi", 80 * kGi},
      {"1.5Gi", kGi + kGi / 2},
      {"4Ki", 4096},
      {"3Mi", 3 << 20},
      {"2Ti", 2048 * kGi},
      {"1Pi", 1024 * 1024 * kGi},
      {"1Ei", kGi * kGi},
      {"500k", 500'000},
      {"80G", 80'000'000'000},
      {"5M", 5'000'000},
      {"1T", 1'000'000'000'000},
      {"1e3", 1000},
      {"1E3", 1000},
      {"2.5e+3", 2500},
      {"1E", 1'000'000'000'000'000'000},
      {".5Ki", 512},
      {"7.Ki", 7168},
  };
  for (const auto& [text, value] : cases) EXPECT_EQ(parse_quantity(text), value) << text;
}

TEST(Quantity, AFractionOfAUnitIsRoundedUp) {
  EXPECT_EQ(parse_quantity("500m"), 1);
  EXPECT_EQ(parse_quantity("1001m"), 2);
  EXPECT_EQ(parse_quantity("0.1Gi"), 107374183);
  EXPECT_EQ(parse_quantity("1n"), 1);
  EXPECT_EQ(parse_quantity("1e-200"), 1);
}

TEST(Quantity, IsReadInThousandthsToo) {
  EXPECT_EQ(parse_milli_quantity("7500m"), 7500);
  EXPECT_EQ(parse_milli_quantity("8"), 8000);
  EXPECT_EQ(parse_milli_quantity("1.0001"), 1001);
  EXPECT_EQ(parse_milli_quantity("2Ki"), 2'048'000);
  EXPECT_FALSE(parse_milli_quantity("8Ei"));
}

TEST(Quantity, HasUpTo19Digits) {
  EXPECT_EQ(parse_quantity("1234567890123456789"), 1'234'567'890'123'456'789);
  EXPECT_EQ(parse_quantity("0001.000000000000000000"), 1) << "zeros in front do not count";
  EXPECT_FALSE(parse_quantity("1.0000000000000000000"));
}

TEST(Quantity, RefusesEverythingElseWithAnExample) {
  for (const char* text :
       {"", "Gi", "80 Gi", "80GB", "80gi", "-1Gi", "1.2.3", "1e", "1e+-3", "1e999", "0x10", "."}) {
    const auto value = parse_quantity(text);
    ASSERT_FALSE(value) << text;
    EXPECT_THAT(value.error().message, HasSubstr("write one such as 80Gi")) << text;
  }
}

TEST(Quantity, SaysWhenItDoesNotFit) {
  for (const char* text : {"8Ei", "9.3E", "1e200", "100000000000000000Ei"}) {
    const auto value = parse_quantity(text);
    ASSERT_FALSE(value) << text;
    EXPECT_THAT(value.error().message, HasSubstr("too large")) << text;
  }
  EXPECT_EQ(parse_quantity("7Ei"), 7 * kGi * kGi);
}

TEST(Quantity, TheExactFormReadsBackTheSame) {
  EXPECT_EQ(exact_quantity(80 * kGi), "80Gi");
  EXPECT_EQ(exact_quantity(0), "0");
  EXPECT_EQ(exact_quantity(1000), "1000");
  for (const std::int64_t bytes :
       {std::int64_t{1}, 3 * kGi + 1024, 5 * kGi * kGi, std::int64_t{9'223'372'036'854'775'807}}) {
    EXPECT_EQ(parse_quantity(exact_quantity(bytes)), bytes);
  }
}

TEST(Quantity, TheReadableFormHasThreeDigits) {
  EXPECT_EQ(readable_quantity(65'712'345'678), "61.2Gi");
  EXPECT_EQ(readable_quantity(512), "512");
  EXPECT_EQ(readable_quantity(999 * kGi), "999Gi");
  EXPECT_EQ(readable_quantity(1023 * kGi), "1.0Ti");
}

}  // namespace
}  // namespace caravan
