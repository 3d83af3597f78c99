// The order in which samples are seen: a permutation per epoch that depends on seed and epoch only.
//
// Position p of the run is sample order(p mod n) of epoch p / n. Every sample comes once per epoch, whatever
// the layout; a position is all that a resume needs. The permutation is computed, not stored: constant memory
// for any number of samples, the same values on every platform.
#pragma once

#include <cstdint>

namespace caravan::data {

class SampleOrder {
 public:
  // samples ≥ 1.
  SampleOrder(int64_t samples, uint64_t seed);

  // position ≥ 0; the result is in [0, samples).
  int64_t sample_at(int64_t position) const;

 private:
  uint64_t samples_;
  uint64_t seed_;
  int half_bits_;  // the Feistel network permutes numbers of twice as many bits
};

}  // namespace caravan::data
