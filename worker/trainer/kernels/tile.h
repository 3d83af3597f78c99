// Views of rows of numbers within a tensor or a buffer, and the buffers that a thread works in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

namespace caravan::kernels {

// Element (i, k) stands at data[i * row + k * column].
template <typename T>
struct Tile {
  T* data = nullptr;
  int64_t row = 0;
  int64_t column = 1;

  T* at(int64_t i) const { return data + i * row; }
  Tile from(int64_t i) const { return {.data = at(i), .row = row, .column = column}; }
  Tile transposed() const { return {.data = data, .row = column, .column = row}; }

  // NOLINTNEXTLINE(google-explicit-constructor): what may be written may be read
  operator Tile<const T>() const { return {.data = data, .row = row, .column = column}; }
};

// Of a product of tiles.
struct ProductSize {
  int64_t rows = 0;
  int64_t depth = 0;
  int64_t columns = 0;
};

// What a product does with the numbers at its place.
enum class Into { New, Sum };

// Rows that stand one after the other in memory of their own, at a cache line's beginning.
template <typename W>
class Buffer {
 public:
  Buffer(int64_t rows, int64_t columns)
      : columns_(columns), data_(new (kLine) W[static_cast<std::size_t>(rows * columns)]) {}

  Tile<W> tile() const { return {.data = data_.get(), .row = columns_}; }

 private:
  static constexpr std::align_val_t kLine{64};
  struct Delete {
    void operator()(W* data) const { ::operator delete[](data, kLine); }
  };

  int64_t columns_;
  std::unique_ptr<W[], Delete> data_;
};

}  // namespace caravan::kernels
