// Elements [offset, offset + elements) of the flat buffers.
#pragma once

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <cstdint>

namespace caravan::trainer {

struct FlatRange {
  int64_t offset = 0;
  int64_t elements = 0;
  bool operator==(const FlatRange&) const = default;
};

inline FlatRange intersection(FlatRange a, FlatRange b) {
  const int64_t begin = std::max(a.offset, b.offset);
  const int64_t end = std::min(a.offset + a.elements, b.offset + b.elements);
  return {begin, std::max<int64_t>(0, end - begin)};
}

inline at::Tensor view(const at::Tensor& flat, FlatRange range) {
  return flat.narrow(0, range.offset, range.elements);
}

}  // namespace caravan::trainer
