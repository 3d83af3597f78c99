// Blocks of a tensor: which elements a rank wrote, in numbers of the whole tensor.
//
// A tensor of one dimension counts as a column. Pure.
#pragma once

#include <cstdint>
#include <span>

namespace caravan::checkpoint {

struct Box {
  int64_t row = 0;
  int64_t column = 0;
  int64_t rows = 0;
  int64_t columns = 0;
  bool operator==(const Box&) const = default;
};

// Rows and columns of a tensor of one or two dimensions.
Box whole_tensor(std::span<const int64_t> shape);

// That the boxes lie in the tensor and hold each of its elements once.
bool cover_exactly(const Box& whole, std::span<const Box> boxes);

}  // namespace caravan::checkpoint
