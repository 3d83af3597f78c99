// A flat tensor cut into one part per rank of a group; the last parts may be short or empty.
#pragma once

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <cstdint>

namespace caravan::trainer {

struct Range {
  int64_t begin = 0;
  int64_t end = 0;

  int64_t size() const { return end - begin; }
};

inline Range overlap(Range a, Range b) {
  const int64_t begin = std::max(a.begin, b.begin);
  return {begin, std::max(begin, std::min(a.end, b.end))};
}

class Partition {
 public:
  Partition(int64_t elements, int ranks) : elements_(elements), part_((elements + ranks - 1) / ranks) {}

  int64_t part_elements() const { return part_; }
  Range part(int rank) const {
    return {std::min(rank * part_, elements_), std::min((rank + 1) * part_, elements_)};
  }
  // Elements [begin, begin + size) of the rank's part, as far as it has them.
  Range chunk(int rank, int64_t begin, int64_t size) const {
    const Range whole = part(rank);
    return overlap(whole, {whole.begin + begin, whole.begin + begin + size});
  }

 private:
  int64_t elements_;
  int64_t part_;
};

inline at::Tensor view(const at::Tensor& flat, Range range) {
  return flat.narrow(0, range.begin, range.size());
}

inline void copy_unless_same(const at::Tensor& target, const at::Tensor& source) {
  if (target.data_ptr() != source.data_ptr()) target.copy_(source);
}

}  // namespace caravan::trainer
