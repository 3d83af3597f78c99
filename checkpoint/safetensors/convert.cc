#include "checkpoint/safetensors/convert.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <stdexcept>

namespace caravan::checkpoint {
namespace {

struct BFloat16 {
  uint16_t bits;
};

struct Half {
  uint16_t bits;
};

double widen(double value) {
  return value;
}

float widen(float value) {
  return value;
}

float widen(BFloat16 value) {
  return std::bit_cast<float>(uint32_t{value.bits} << 16);
}

// IEEE 754 binary16: a sign, 5 bits of exponent with bias 15, 10 bits of fraction.
float widen(Half value) {
  const uint32_t sign = uint32_t{value.bits} >> 15 << 31;
  const uint32_t exponent = value.bits >> 10 & 0x1F;
  const uint32_t fraction = value.bits & 0x3FF;
  if (exponent == 0)
    return std::copysign(std::ldexp(static_cast<float>(fraction), -24), sign != 0 ? -1.0F : 1.0F);
  const uint32_t wide_exponent = exponent == 0x1F ? 0xFF : exponent + 127 - 15;
  return std::bit_cast<float>(sign | wide_exponent << 23 | fraction << 13);
}

template <typename Wide>
void narrow(Wide value, double& out) {
  out = value;
}

template <typename Wide>
void narrow(Wide value, float& out) {
  out = static_cast<float>(value);
}

template <typename Wide>
void narrow(Wide value, BFloat16& out) {
  const auto bits = std::bit_cast<uint32_t>(static_cast<float>(value));
  const bool is_nan = (bits & 0x7FFFFFFF) > 0x7F800000;
  const uint32_t rounded = is_nan ? bits | 0x400000 : bits + 0x7FFF + (bits >> 16 & 1);
  out.bits = static_cast<uint16_t>(rounded >> 16);
}

template <typename From, typename To>
void convert_all(std::span<const std::byte> in, std::span<std::byte> out) {
  const std::size_t count = in.size() / sizeof(From);
  for (std::size_t i = 0; i < count; ++i) {
    From value;
    To result;
    std::memcpy(&value, in.data() + i * sizeof(From), sizeof(From));
    narrow(widen(value), result);
    std::memcpy(out.data() + i * sizeof(To), &result, sizeof(To));
  }
}

template <typename From>
void convert_from(std::span<const std::byte> in, ElementType to, std::span<std::byte> out) {
  switch (to) {
    case ElementType::F64:
      return convert_all<From, double>(in, out);
    case ElementType::F32:
      return convert_all<From, float>(in, out);
    case ElementType::BF16:
      return convert_all<From, BFloat16>(in, out);
    default:
      throw std::invalid_argument("weights are not converted to this type");
  }
}

}  // namespace

void convert(ElementType from, std::span<const std::byte> in, ElementType to, std::span<std::byte> out) {
  if (from == to) {
    if (!in.empty()) std::memcpy(out.data(), in.data(), in.size());
    return;
  }
  switch (from) {
    case ElementType::F64:
      return convert_from<double>(in, to, out);
    case ElementType::F32:
      return convert_from<float>(in, to, out);
    case ElementType::F16:
      return convert_from<Half>(in, to, out);
    case ElementType::BF16:
      return convert_from<BFloat16>(in, to, out);
    default:
      throw std::invalid_argument("weights are not converted from this type");
  }
}

}  // namespace caravan::checkpoint
