// How far predictions are from what is measured, as a part of them, where the engine was measured on devices
// such as these; on GPUs, with bf16. Pure.
#pragma once

#include <optional>

#include "planner/engine_profile.h"
#include "planner/request.h"

namespace caravan::planner {

// Standard deviation of measured peaks.
std::optional<double> memory_error(const DevicePool& devices, const EngineProfile& profile,
                                   const TrainingNumbers& training = {});

// Mean absolute error of step times.
std::optional<double> step_time_error(const DevicePool& devices, const EngineProfile& profile,
                                      const TrainingNumbers& training = {});

}  // namespace caravan::planner
