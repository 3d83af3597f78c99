// The order in which samples are seen: a permutation per epoch that depends on seed and epoch only.
//
// Position p of the run is sample order(p mod n) of epoch p / n. Every sample comes once per epoch, whatever the layout;
// a position is all that a resume needs.
#pragma once

#include <cstdint>

namespace caravan::data {

class SampleOrder {
 public:
  // samples ≥ 1.
  SampleOrder(int64_t samples, uint64_t seed);
  int64_t sample_at(int64_t position) const;

 private:
  int64_t samples_;
  uint64_t seed_;
};

}  // namespace caravan::data
