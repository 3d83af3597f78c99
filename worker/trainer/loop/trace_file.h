// The trace of a rank's step as a file that chrome://tracing and Perfetto show: DIRECTORY/rank-<n>.json, a
// RankTrace (proto/caravan/v1alpha1/trace.proto).
//
// Times are those of the machine's monotonic clock, so traces of ranks on one machine can be laid beside each
// other. Each machine's clock began at a time of its own: between machines only durations can be compared.
// Errors are bad input and name the file that cannot be written.
#pragma once

#include <string>

#include "common/result.h"
#include "worker/trainer/loop/trainer_options.h"
#include "worker/trainer/pipeline/op_trace.h"
#include "worker/trainer/trace/span.h"

namespace caravan::trainer {

struct StepTrace {
  int step = 0;
  OpTrace ops = {};
  SpanTrace spans = {};  // within the ops and between them
  TraceClock clock;      // of the moments of both
};

// options: of the rank. Waits for the device where the trace is of one.
std::string trace_json(const TrainerOptions& options, const StepTrace& trace);

// Into options.trace_directory, which is made where it is absent.
Status write_trace(const TrainerOptions& options, const StepTrace& trace);

}  // namespace caravan::trainer
