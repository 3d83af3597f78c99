#include "common/random_hex.h"

#include <gtest/gtest.h>

namespace caravan {
namespace {

TEST(RandomHex, HasADigitForFourBitsAndNeverTheSame) {
  const std::string name = random_hex(128);
  EXPECT_EQ(name.size(), 32U);
  EXPECT_EQ(name.find_first_not_of("0123456789abcdef"), std::string::npos) << name;
  EXPECT_NE(name, random_hex(128));
}

}  // namespace
}  // namespace caravan
