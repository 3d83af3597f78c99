// How few layers must be made again for a layout to fit with room to spare (planner/memory/risk.h).
#pragma once

#include <vector>

#include "planner/engine_profile.h"
#include "planner/layout.h"
#include "planner/memory/memory_model.h"
#include "planner/request.h"

namespace caravan::planner {

// Of each stage, for a layout with activation checkpointing that fits if all layers are made again. Empty,
// which means all, where the user or the engine leaves no choice, where the device's memory is unknown, and
// where none need be.
std::vector<int> fewest_recomputed_layers(const PlanRequest& request, const Layout& layout,
                                          const EngineProfile& profile, const MemoryModel& memory);

}  // namespace caravan::planner
