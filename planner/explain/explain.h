// The planner's whole answer as text for people: the plan, memory by term for every stage, and the layouts
// beside it, each with what it would cost or what broke it.
#pragma once

#include <string>

#include "planner/plan.h"

namespace caravan::planner {

// all: every candidate, not only the best alternatives. Ends with a newline.
std::string explain_plan(const PlanAnswer& answer, bool all);

}  // namespace caravan::planner
