// The planner's whole answer as text for people: the plan, memory by term for every stage, and the layouts
// beside it, each with what it would cost or what broke it.
#pragma once

#include <string>

#include "planner/plan.h"

namespace caravan::planner {

struct ExplainOptions {
  bool all = false;              // every candidate and stage, not only the telling ones
  int width = 100;               // of a line, in characters
  std::string checkpoints = {};  // checkpoints_text() of the job
};

// Ends with a newline.
std::string explain_plan(const PlanAnswer& answer, const ExplainOptions& options = {});

}  // namespace caravan::planner
