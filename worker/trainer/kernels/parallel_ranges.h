// Shares rows or elements out to the rank's threads.
//
// How many ranges there are depends on the number of threads, so a range must not make a sum of its own that
// others are added to.
#pragma once

#include <ATen/Parallel.h>

#include <algorithm>
#include <cstdint>

namespace caravan::kernels {

struct Range {
  int64_t begin = 0;
  int64_t end = 0;
};

// Fewer elements than these are not worth the start of a thread.
inline constexpr int64_t kElementsPerTask = int64_t{1} << 14;

// body(Range) for parts of 0 ... count, each of which has `elements` elements.
template <typename Body>
void parallel_ranges(int64_t count, int64_t elements, const Body& body) {
  const int64_t least = std::max<int64_t>(1, kElementsPerTask / std::max<int64_t>(1, elements));
  at::parallel_for(0, count, least,
                   [&](int64_t begin, int64_t end) { body(Range{.begin = begin, .end = end}); });
}

}  // namespace caravan::kernels
