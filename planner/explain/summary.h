// A plan in a few lines: what, why, the memory and the speed that it predicts. `caravan run` prints it before
// the start.
#pragma once

#include <string>

#include "caravan/v1alpha1/plan.pb.h"

namespace caravan::planner {

// Ends with a newline. Needs a report with a plan. width: of a line, in characters.
std::string plan_summary(const v1alpha1::PlanReport& report, int width = 100, bool all = false);

// "TP2 PP4 DP8, micro-batch size 1, 32 micro-batches, 1F1B, sequence parallel"
std::string layout_summary(const v1alpha1::Plan& plan);

// "64 H100-80GB devices"
std::string devices_summary(const v1alpha1::Plan& plan);

// What a device holds at its peak, how sure it is that it fits, and a bar for each stage; all: of every one.
std::string memory_summary(const v1alpha1::Plan& plan, int width, bool all);

}  // namespace caravan::planner
