// Lists the layouts that a request leaves open, in the order in which the rule tries them: least model
// parallelism first, at an equal product pipeline before tensor parallelism, small micro-batches first.
//
// The whole grid: with and without sequence parallelism and activation checkpointing, micro-batch sizes 1 to
// 8, ZeRO stages up to what the engine runs; the user's choices are kept. Of each layout the fastest split of
// its layers alone. The schedule is 1F1B unless the user asks for another one.
#pragma once

#include <vector>

#include "planner/engine_profile.h"
#include "planner/layout.h"
#include "planner/request.h"

namespace caravan::planner {

// The schema's bound, also where a switch joins more devices.
inline constexpr int kMaximumTensor = 16;

// Also one illegal layout for each size that the user or the devices suggest, so that it can be explained.
std::vector<Layout> enumerate_layouts(const PlanRequest& request, const EngineProfile& profile);

// Those of these sizes, which need not fill the devices.
std::vector<Layout> layouts_of_sizes(const PlanRequest& request, const EngineProfile& profile, int tensor,
                                     int pipeline, int data);

// Where the search is free to choose another schedule: timing longer pipelines op by op takes long, and
// arranging those of V-schedules longer.
inline constexpr int kMostStagesOfOthers = 64;
inline constexpr int kMostStagesOfOpenV = 16;
// Layouts of one tier of a request that are arranged at most, so that no job holds up planning for long.
inline constexpr int kMostArranged = 64;

// Those that differ from one of them in nothing but the schedule that the user leaves open, and in how layers
// are split for it: what the engine runs but GPipe, which holds more than 1F1B and saves no more than
// transfers.
std::vector<Layout> with_other_schedules(const PlanRequest& request, const EngineProfile& profile,
                                         const Layout& layout);

}  // namespace caravan::planner
