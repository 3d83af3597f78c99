// The layouts beside the chosen one: what the best of them would cost, and what broke the others.
#pragma once

#include <string>

#include "caravan/v1alpha1/plan.pb.h"

namespace caravan::planner {

// The five that take the least time per step (without times, the first five in order of preference), with the
// change in step time and memory; `all`: every one, in order of preference.
std::string alternatives_table(const v1alpha1::PlanReport& report, int width, bool all);

// Layouts that do not fit, each with the binding stage, its largest term and the bytes, and illegal ones with
// the rule. The few that lack least first; `all`: every one, in order of preference.
std::string rejected_table(const v1alpha1::PlanReport& report, int width, bool all);

}  // namespace caravan::planner
