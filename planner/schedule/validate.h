// Checks that a schedule can be executed, on any transport that keeps the order of messages.
//
// Holds when the answer is good: every unit has one forward and either one fused backward or one of the input
// and one of the weights; every op finds its inputs made; a stage takes what a neighbour sends it in the
// order in which that was sent; no stage waits for ever, even where a send ends only when the peer receives
// it and no more messages may be under way than the limits say; no stage holds more than it promised. The
// message names the stages, the ops and what they wait for.
#pragma once

#include <vector>

#include "common/result.h"
#include "planner/schedule/schedule.h"

namespace caravan::planner {

struct ExecutionLimits {
  std::vector<double> peaks = {};  // micro-batches of activations by stage; empty: nothing was promised
  // Of activations, and as many of gradients, from a stage to each neighbour: sent and not taken yet. Without
  // a limit, a transport that takes any number.
  int messages_under_way = kAnyNumber;
};

Status validate_schedule(const Schedule& schedule, const ExecutionLimits& limits = {});

}  // namespace caravan::planner
