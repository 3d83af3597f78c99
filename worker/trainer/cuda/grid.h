// How many threads share out the work of a kernel. One dimension: a block for each row, or as many as fill a
// device.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace caravan::cuda {

inline constexpr int kWarp = 32;
inline constexpr int kMaxThreads = 1024;
inline constexpr std::int64_t kMaxBlocks = 0x7fffffff;

// Why a grid is refused.
inline constexpr const char* kTooManyRows = "the shape has more rows than a launch can have blocks";
inline constexpr const char* kTooLongRows = "rows are too long for the shared memory of this device";

struct Grid {
  std::int64_t blocks;
  int threads;
  std::size_t shared_bytes = 0;
};

constexpr std::int64_t divide_up(std::int64_t n, std::int64_t by) {
  return (n + by - 1) / by;
}

// Whole warps, one thread for each item as far as a block has as many.
constexpr int threads_for(std::int64_t items, int most = kMaxThreads) {
  const std::int64_t warps = std::max<std::int64_t>(divide_up(items, kWarp), 1);
  return static_cast<int>(std::min<std::int64_t>(warps * kWarp, most));
}

// A block for each row; a thread for each pack of so many values, or for each value where rows have single
// ones.
constexpr Grid grid_of_rows(std::int64_t rows, std::int64_t columns, std::int64_t single, int width,
                            int most_threads) {
  return {.blocks = rows, .threads = threads_for(single == 0 ? columns / width : columns, most_threads)};
}

inline constexpr int kFlatThreads = 256;

// For items that lie one after the other: a thread for each, which keeps more loads under way than fewer
// threads that take several in turn would; beyond so many blocks, they do.
constexpr Grid flat_grid(std::int64_t items) {
  constexpr std::int64_t kMostBlocks = std::int64_t{1} << 20;
  return {.blocks = std::min(divide_up(items, kFlatThreads), kMostBlocks), .threads = kFlatThreads};
}

}  // namespace caravan::cuda
