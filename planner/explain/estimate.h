// What a plan's run is predicted to cost in time, each figure with the error that predictions were found to
// have.
#pragma once

#include <string>

#include "caravan/v1alpha1/plan.pb.h"

namespace caravan::planner {

// " ± 12 %", or nothing where the error is not known.
std::string error_text(double fraction);

// Step time, tokens/s, days, GPU-hours and utilisation, a line each; nothing where the device's speed is
// unknown. Ends with a newline.
std::string estimate_text(const v1alpha1::Plan& plan);

}  // namespace caravan::planner
