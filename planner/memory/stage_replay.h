// Replays the ops of one pipeline stage on paper, transfers included, and notes the moment at which most is
// alive.
//
// An op's input is received right before it; what it made is held until it is the oldest of as many messages
// of its direction as may be under way, and one more is about to be made
// (worker/trainer/pipeline/transfers.h). Knows one neighbour in each direction: stages in a loop. Pure.
#pragma once

#include <span>

#include "planner/memory/memory_model.h"
#include "planner/placement.h"
#include "planner/request.h"
#include "planner/work/stage_footprint.h"

namespace caravan::planner {

// Activations, logits, workspace and communication at the peak of a step; the other terms are zero. chunks:
// of the stage's groups of layers.
MemoryTerms replay_stage(const PlanRequest& request, const Layout& layout, const Placement& placement,
                         int stage, std::span<const StageFootprint> chunks);

}  // namespace caravan::planner
