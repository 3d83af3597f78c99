// Bytes of one rank by what they are used for; the terms add up to the total. The names are those of the
// plan's MemoryTerms, against which they are held.
#pragma once

#include <cstdint>

namespace caravan::trainer {

struct MemoryBreakdown {
  int64_t parameters = 0;
  int64_t gradients = 0;
  int64_t optimizer = 0;
  int64_t activations = 0;
  int64_t logits = 0;
  int64_t workspace = 0;
  int64_t communication = 0;
  int64_t snapshot = 0;

  int64_t total() const {
    return parameters + gradients + optimizer + activations + logits + workspace + communication + snapshot;
  }
};

// What the plan says of a rank.
struct PlannedMemory {
  MemoryBreakdown uses;
  int64_t overhead = 0;  // of a device, beside tensors: its context, libraries, and holes between tensors
};

}  // namespace caravan::trainer
