// The number that an element of a rank's part of a tensor has in the whole tensor, row by row. For processors
// and for CUDA devices.
#pragma once

#include <cstdint>
#include <limits>

namespace caravan::kernels {

// Of elements that follow each other in the part. As it is: of a tensor that no one cuts.
struct ElementNumbers {
  std::int64_t first = 0;  // of them, counted in the part
  std::int64_t part_columns = std::numeric_limits<std::int64_t>::max();
  std::int64_t columns = 0;  // of the tensor
  std::int64_t begin = 0;    // of the part in it

  constexpr std::int64_t operator[](std::int64_t i) const {
    const std::int64_t at = first + i;
    if (at < part_columns) return at + begin;  // no division, which a device takes long for
    return at / part_columns * columns + at % part_columns + begin;
  }
  constexpr std::int64_t column_of(std::int64_t i) const {
    const std::int64_t at = first + i;
    return at < part_columns ? at : at % part_columns;
  }
  bool operator==(const ElementNumbers&) const = default;
};

// The numbers of elements one after the other, without a division for each.
class NumberWalk {
 public:
  constexpr NumberWalk(const ElementNumbers& numbers, std::int64_t i)
      : part_columns_(numbers.part_columns),
        skipped_(numbers.columns - numbers.part_columns),
        column_(numbers.column_of(i)),
        number_(numbers[i]) {}

  constexpr std::int64_t next() {
    const std::int64_t number = number_++;
    if (++column_ == part_columns_) {
      column_ = 0;
      number_ += skipped_;
    }
    return number;
  }

 private:
  std::int64_t part_columns_, skipped_, column_, number_;
};

}  // namespace caravan::kernels
