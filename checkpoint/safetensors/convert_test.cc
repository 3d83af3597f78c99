#include "checkpoint/safetensors/convert.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <vector>

namespace caravan::checkpoint {
namespace {

template <typename To, typename From>
std::vector<To> converted(ElementType from, const std::vector<From>& in, ElementType to) {
  std::vector<To> out(in.size());
  convert(from, std::as_bytes(std::span(in)), to, std::as_writable_bytes(std::span(out)));
  return out;
}

// The value by the definition of the format (IEEE 754-2008, 3.4), in fp64, where nothing is rounded.
double value_of_half(uint16_t bits) {
  const int exponent = bits >> 10 & 0x1F;
  const double fraction = bits & 0x3FF;
  const double size = exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
  return (bits >> 15) != 0 ? -size : size;
}

TEST(Convert, EveryHalfIsReadAsTheNumberThatItIs) {
  std::vector<uint16_t> all(1 << 16);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<uint16_t>(i);
  const auto wide = converted<float>(ElementType::F16, all, ElementType::F32);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const bool negative = (all[i] >> 15) != 0;
    ASSERT_EQ(std::signbit(wide[i]), negative) << i;
    if ((all[i] & 0x7FFF) > 0x7C00) {
      ASSERT_TRUE(std::isnan(wide[i])) << i;
    } else if ((all[i] & 0x7FFF) == 0x7C00) {
      ASSERT_TRUE(std::isinf(wide[i])) << i;
    } else {
      ASSERT_EQ(wide[i], value_of_half(all[i])) << i;
    }
  }
}

TEST(Convert, EveryBFloat16ComesBackThroughF32) {
  std::vector<uint16_t> all;
  for (uint32_t i = 0; i < 1 << 16; ++i) {
    const bool signalling_nan = (i & 0x7FFF) > 0x7F80 && (i & 0x40) == 0;
    if (!signalling_nan) all.push_back(static_cast<uint16_t>(i));
  }
  const auto wide = converted<float>(ElementType::BF16, all, ElementType::F32);
  EXPECT_EQ(converted<uint16_t>(ElementType::F32, wide, ElementType::BF16), all);
  EXPECT_EQ(wide[0x3F80], 1.0F);
}

TEST(Convert, RoundsToTheNearestAndTiesToEven) {
  const auto bits = [](float value) {
    return converted<uint16_t>(ElementType::F32, std::vector{value}, ElementType::BF16)[0];
  };
  const auto between = [](uint32_t pattern) { return std::bit_cast<float>(pattern); };
  EXPECT_EQ(bits(between(0x3F808000)), 0x3F80) << "halfway, the even one is below";
  EXPECT_EQ(bits(between(0x3F818000)), 0x3F82) << "halfway, the even one is above";
  EXPECT_EQ(bits(between(0x3F808001)), 0x3F81);
  EXPECT_EQ(bits(between(0xBF807FFF)), 0xBF80);
  EXPECT_EQ(bits(std::numeric_limits<float>::max()), 0x7F80) << "nearest is infinity";
  EXPECT_TRUE(std::isnan(converted<float>(ElementType::BF16, std::vector{bits(NAN)}, ElementType::F32)[0]));
  const std::vector wide{1.0 + 0x1p-30};
  EXPECT_EQ(converted<float>(ElementType::F64, wide, ElementType::F32)[0], 1.0F);
  EXPECT_EQ(converted<double>(ElementType::F32, std::vector{0.1F}, ElementType::F64)[0], double{0.1F});
}

TEST(Convert, OtherTypesAreNoWeights) {
  std::vector<std::byte> some(8);
  EXPECT_THROW(convert(ElementType::I32, some, ElementType::F32, some), std::invalid_argument);
  EXPECT_THROW(convert(ElementType::F32, some, ElementType::I32, some), std::invalid_argument);
  EXPECT_FALSE(is_floating(ElementType::U8));
}

}  // namespace
}  // namespace caravan::checkpoint
