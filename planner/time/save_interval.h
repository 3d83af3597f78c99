// How often a checkpoint costs least, by Young and Daly: sqrt(2 · stall · time between failures) from one to
// the next (Daly, Future Generation Computer Systems 22, 2006). Pure.
//
// Failures are the attempts before this one, and one more in the time that Llama 3's ranks took for one (419
// in 54 days of 16,384 H100s; arXiv 2407.21783, section 3.3.4).
#pragma once

namespace caravan::planner {

struct SaveCost {
  double seconds = 0;        // from its step to its end
  double stall_seconds = 1;  // that training waited; before the first one, a guess
};

struct FailureRecord {
  int ranks = 1;
  int attempts_before = 0;
  double run_seconds = 0;  // of this attempt; that of earlier ones is not known
};

// Seconds, from a minute to an hour, and never so often that one is always being written.
double best_save_interval(const SaveCost& cost, const FailureRecord& failures);

}  // namespace caravan::planner
