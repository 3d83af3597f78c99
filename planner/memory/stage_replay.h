// Replays what one pipeline stage does, transfers included, and notes the moment at which most is alive.
//
// The actions are those that the trainer executes (planner/schedule/transfers.h): a boundary tensor is alive
// from the moment at which its receive is posted until the op that takes it begins, from the end of the op
// that made it until its send is finished, and while it waits for the next group of layers on the same stage.
// Pure.
#pragma once

#include <span>

#include "planner/memory/memory_terms.h"
#include "planner/memory/replayed_ops.h"
#include "planner/placement.h"
#include "planner/request.h"
#include "planner/work/stage_footprint.h"

namespace caravan::planner {

// Activations, logits, workspace and communication at the peak of a step; the other terms are zero. units:
// what the stage's groups of layers need, first all of them for the first segment of a sequence.
MemoryTerms replay_stage(const PlanRequest& request, const Layout& layout, const Placement& placement,
                         int stage, std::span<const StageFootprint> units, const ReplayedOps& replayed);

}  // namespace caravan::planner
