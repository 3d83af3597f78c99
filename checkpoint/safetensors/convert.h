// Floating point elements of one type as another: rounded to the nearest, ties to even, as LibTorch does.
//
// From F64, F32, F16 and BF16 to F64, F32 and BF16; other types throw std::invalid_argument. The same type is
// copied, bit for bit. Pure.
#pragma once

#include <cstddef>
#include <span>

#include "checkpoint/safetensors/element_type.h"

namespace caravan::checkpoint {

constexpr bool is_floating(ElementType type) {
  return type == ElementType::F64 || type == ElementType::F32 || type == ElementType::F16 ||
         type == ElementType::BF16;
}

// As many elements as `in` holds; `out` has room for just these.
void convert(ElementType from, std::span<const std::byte> in, ElementType to, std::span<std::byte> out);

}  // namespace caravan::checkpoint
