// How long a pipeline works on the micro-batches of one step: what simulate finds, some hundred times faster.
//
// GPipe has a closed form. The others are timed op by op for up to three micro-batches a stage; from there
// on each micro-batch adds what those of the last round added, or the slowest stage's time where that is
// more. Pipelines of more than 256 stages are estimated as if every stage were as slow as the slowest.
//
// Pure. Assumes one entry of times a stage, 1 ≤ micro_batches, and a multiple of the stages with Interleaved.
#pragma once

#include <cstdint>
#include <vector>

#include "planner/schedule/simulate.h"

namespace caravan::planner {

// chunks: of a stage. transfer: from the end of an op to its arrival at a neighbour.
double makespan(ScheduleKind kind, int chunks, const std::vector<StageTimes>& times, double transfer,
                int64_t micro_batches);

}  // namespace caravan::planner
