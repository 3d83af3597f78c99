// What a stage executed in a step, and when.
#pragma once

#include <vector>

#include "planner/schedule/schedule.h"
#include "worker/trainer/trace/trace_clock.h"

namespace caravan::trainer {

struct TracedOp {
  planner::Op op;
  Moment begin;
  Moment end;
};

// In the order of execution.
struct OpTrace {
  std::vector<TracedOp> ops;
  std::vector<TracedOp> waits;  // for the input that another stage sends for the op
};

}  // namespace caravan::trainer
