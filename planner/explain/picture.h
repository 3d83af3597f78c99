// A plan as a picture: what every stage does when, and what it holds against the limit. SVG, without scripts
// or fonts of its own.
#pragma once

#include <string>

#include "planner/plan.h"

namespace caravan::planner {

// Errors are those of answer_job: there is nothing to draw where nothing fits. Bad input for more than 256
// stages.
Result<std::string> draw_plan(const v1alpha1::JobSpec& spec, const DeviceFacts& facts,
                              const EngineProfile& profile);

}  // namespace caravan::planner
