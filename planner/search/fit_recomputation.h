// How little of how few layers must run again for a layout to fit with room to spare (planner/memory/risk.h).
#pragma once

#include "planner/engine_profile.h"
#include "planner/layout.h"
#include "planner/memory/memory_model.h"
#include "planner/request.h"

namespace caravan::planner {

// For a layout with activation checkpointing that fits if all layers run again: the same with as few layers
// of each stage as fit, of the part that costs less so: its slowest stage, or else all of them. As it is,
// which means all layers, where the user or the engine leaves no choice, where the device's memory is
// unknown, and where none need be.
Layout with_cheapest_recomputation(const PlanRequest& request, const Layout& layout,
                                   const EngineProfile& profile, const MemoryModel& memory);

}  // namespace caravan::planner
