// CUDA's bf16 type without its operators, which round after every step: kernels work in fp32.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

// NOLINTBEGIN(bugprone-reserved-identifier): CUDA's names

struct __nv_bfloat16 {
  std::uint16_t bits;
};

inline float __bfloat162float(__nv_bfloat16 value) {
  return std::bit_cast<float>(std::uint32_t{value.bits} << 16);
}

// To the nearest, of two that are as near to the even one.
inline __nv_bfloat16 __float2bfloat16(float value) {
  constexpr std::uint16_t kNan = 0x7fff;
  if (std::isnan(value)) return {kNan};
  const auto bits = std::bit_cast<std::uint32_t>(value);
  return {static_cast<std::uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16)};
}

inline __nv_bfloat16 __ushort_as_bfloat16(std::uint16_t bits) {
  return {bits};
}
inline std::uint16_t __bfloat16_as_ushort(__nv_bfloat16 value) {
  return value.bits;
}

// NOLINTEND(bugprone-reserved-identifier)
