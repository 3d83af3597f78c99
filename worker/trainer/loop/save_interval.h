// How often a job writes a checkpoint. Pure.
//
// Where the user leaves it open, by Young and Daly: least is lost with sqrt(2 · stall · time between
// failures) from one to the next (Daly, Future Generation Computer Systems 22, 2006). The stall is what the
// last one took. Failures are those that the job has had, and one more in the time that Llama 3's ranks took
// for one (419 in 54 days of 16,384 H100s; arXiv 2407.21783, section 3.3.4).
#pragma once

#include "worker/trainer/loop/trainer_options.h"

namespace caravan::trainer {

struct SaveCost {
  double seconds = 0;        // from its step to its end
  double stall_seconds = 1;  // that training waited; before the first one, a guess
};

struct FailureRecord {
  int ranks = 1;
  int restarts = 0;
  double run_seconds = 0;  // of this attempt; that of earlier ones is not known
};

// Seconds, from a minute to an hour, and never so often that one is always being written.
double best_save_interval(const SaveCost& cost, const FailureRecord& failures);

// since_last: seconds from the last one, or the start, to the end of this step.
bool save_is_due(const CheckpointOptions& options, int step, double since_last, const SaveCost& cost,
                 const FailureRecord& failures);

}  // namespace caravan::trainer
