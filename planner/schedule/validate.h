// Checks that a schedule can be executed: by anybody, on any transport.
//
// Holds when the answer is good: every unit has one forward and either one fused backward or one of the input
// and one of the weights; every op finds its inputs made; no stage waits for ever, even where a send ends
// only when the peer receives it and a stage has at most one send of activations and one of gradients to each
// neighbour under way; no stage holds more than it promised. The message names the stage, the op and what it
// waits for.
#pragma once

#include <vector>

#include "common/result.h"
#include "planner/schedule/schedule.h"

namespace caravan::planner {

// promised_peaks: micro-batches of activations by stage; empty: nothing was promised.
Status validate_schedule(const Schedule& schedule, const std::vector<double>& promised_peaks = {});

}  // namespace caravan::planner
