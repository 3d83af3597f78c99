#include "common/schema/plain_scalar.h"

#include <gtest/gtest.h>

#include <sstream>
#include <string>

namespace caravan::schema {
namespace {

// words: between spaces.
void expect(PlainScalar kind, const std::string& words) {
  std::istringstream stream(words);
  for (std::string word; stream >> word;) EXPECT_EQ(plain_scalar(word), kind) << word;
}

// As kubectl's reader says of each.
TEST(PlainScalar, IsWhatKubectlTakesItFor) {
  expect(PlainScalar::kBoolean,
         "y Y n N yes Yes YES no No NO on On ON off Off OFF true True TRUE false False FALSE");
  expect(PlainScalar::kNull, "~ null Null NULL");
  expect(PlainScalar::kNumber,
         "0 -0 +5 017 08 1_000 1_ -_5 190_20 1__0 18446744073709551616 0b101 0B1 -0b1 0o17");
  expect(PlainScalar::kNumber,
         "0O17 0x1F 0X1f 0x_1 0_7 1e5 1E+5 1e-400 1. .5 1.e5 +.5 -.5e3 1_0.5 09.5 .5_0");
  expect(PlainScalar::kNumber, ".inf .Inf .INF +.inf -.Inf .nan .NaN .NAN");
  expect(PlainScalar::kText,
         "YeS tRUE nUll nO _5 . .e5 1e 1e+ --5 + 0x 0xg 0o8 0b2 0x1p-2 inf nan +inf -.nan 5Gi");
  expect(PlainScalar::kText, "1,000 12:30 2001-01-01 v1.5 0xffffffffffffffffff llama-tiny");
  EXPECT_EQ(plain_scalar(""), PlainScalar::kNull);
}

}  // namespace
}  // namespace caravan::schema
