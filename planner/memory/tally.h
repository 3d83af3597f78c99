// Replays a sequence of allocations on paper and notes the peak.
#pragma once

#include "planner/memory/block_table.h"

namespace caravan::planner {

class Tally {
 public:
  void activations(int64_t bytes) { change(live_.activations, bytes); }
  void logits(int64_t bytes) { change(live_.logits, bytes); }
  void workspace(int64_t bytes) { change(live_.workspace, bytes); }
  void communication(int64_t bytes) { change(live_.communication, bytes); }

  // Allocated and freed again.
  void pass_workspace(int64_t bytes) {
    workspace(bytes);
    workspace(-bytes);
  }
  void pass_communication(int64_t bytes) {
    communication(bytes);
    communication(-bytes);
  }

  PhaseMemory phase() const { return {.peak = peak_, .after = live_.total()}; }

 private:
  // Negative bytes are freed.
  void change(int64_t& use, int64_t bytes) {
    use += bytes;
    if (live_.total() > peak_.total()) peak_ = live_;
  }

  MemoryUse live_;
  MemoryUse peak_;
};

}  // namespace caravan::planner
