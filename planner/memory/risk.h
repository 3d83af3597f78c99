// How sure it is that a layout fits.
//
// Measured peaks scatter about predicted ones like a normal distribution. Its standard deviation, as a part
// of the prediction, stands in the engine profile once somebody has measured it. Pure.
#pragma once

#include <cstdint>
#include <optional>

#include "planner/engine_profile.h"
#include "planner/request.h"

namespace caravan::planner {

// Until it is measured.
inline constexpr double kUnmeasuredMemoryError = 0.03;

// A layout whose chance is smaller is picked only where no other fits.
inline constexpr double kSureToFit = 0.75;

// That the peak stays within what a plan may fill; 1 where nobody knows the device's memory.
double chance_to_fit(int64_t peak_bytes, const PlanRequest& request, const EngineProfile& profile);

// The largest peak with a chance of 95 %: layers are made again until there is as much room.
std::optional<int64_t> roomy_bytes(const PlanRequest& request, const EngineProfile& profile);

// What a plan must be free to fill for such a peak to be sure to fit.
int64_t sure_bytes(int64_t peak_bytes, const PlanRequest& request, const EngineProfile& profile);

}  // namespace caravan::planner
