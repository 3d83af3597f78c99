// How far predictions are from what is measured, as a part of them, where the engine was measured on devices
// such as these. Pure.
#pragma once

#include <optional>

#include "planner/engine_profile.h"
#include "planner/request.h"

namespace caravan::planner {

// Standard deviation of measured peaks.
std::optional<double> memory_error(const DevicePool& devices, const EngineProfile& profile);

// Mean absolute error of step times.
std::optional<double> step_time_error(const DevicePool& devices, const EngineProfile& profile);

}  // namespace caravan::planner
