// A plan in a few lines: what, why, and the memory that it predicts. `caravan run` prints it before the
// start.
#pragma once

#include <string>

#include "caravan/v1alpha1/plan.pb.h"

namespace caravan::planner {

// Ends with a newline. Needs a report with a plan.
std::string plan_summary(const v1alpha1::PlanReport& report);

// "TP2 PP4 DP8, micro-batch size 1, 32 micro-batches, 1F1B, sequence parallel"
std::string layout_summary(const v1alpha1::Plan& plan);

}  // namespace caravan::planner
