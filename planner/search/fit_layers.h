// Splits a model's layers so that every stage fits, where the fastest split does not.
#pragma once

#include <optional>
#include <vector>

#include "planner/engine_profile.h"
#include "planner/layout.h"
#include "planner/memory/memory_model.h"
#include "planner/request.h"

namespace caravan::planner {

// Layers move one by one from the fullest stage to the emptiest until all stages fit. Nothing where that does
// not help, where the user or the engine leaves no choice, or where the device's memory is unknown. Needs a
// legal layout.
std::optional<std::vector<int>> layers_that_fit(const PlanRequest& request, const Layout& layout,
                                                const EngineProfile& profile, const MemoryModel& memory);

}  // namespace caravan::planner
