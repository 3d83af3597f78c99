// Which element types a tensor of the model may have, and the type that sums over it are made in. For .cc
// files.
#pragma once

#include <c10/core/ScalarType.h>
#include <c10/util/BFloat16.h>
#include <c10/util/Exception.h>

#include <cstdint>
#include <type_traits>

namespace caravan::kernels {

// fp64 stays fp64, so that gradient checks see full precision.
template <typename T>
using Wide = std::conditional_t<std::is_same_v<T, double>, double, float>;

inline c10::ScalarType wide_type(c10::ScalarType storage) {
  return storage == c10::kDouble ? c10::kDouble : c10::kFloat;
}

// Calls body.operator()<T>() with the C++ type of `type`.
template <typename Body>
void for_storage_type(c10::ScalarType type, Body&& body) {
  switch (type) {
    case c10::kFloat:
      return body.template operator()<float>();
    case c10::kDouble:
      return body.template operator()<double>();
    case c10::kBFloat16:
      return body.template operator()<c10::BFloat16>();
    default:
      TORCH_CHECK(false, "kernels work on fp32, bf16 and fp64 tensors, not on ", c10::toString(type));
  }
}

// The same for tensors of sums and statistics.
template <typename Body>
void for_wide_type(c10::ScalarType type, Body&& body) {
  TORCH_CHECK(type == c10::kFloat || type == c10::kDouble, "sums are fp32 or fp64, not ",
              c10::toString(type));
  if (type == c10::kDouble) return body.template operator()<double>();
  return body.template operator()<float>();
}

}  // namespace caravan::kernels
