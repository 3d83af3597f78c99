// A planner's answer on standard output, as `plan` and `estimate` give it.
#pragma once

#include <string>
#include <vector>

#include "planner/plan.h"

namespace caravan::cli {

struct PlanForm {
  bool json = false;
  bool all = false;  // layouts, also those that the rule would never pick
};

// On standard error.
void print_warnings(const std::vector<std::string>& warnings);
void print_warnings(const planner::PlanAnswer& answer);
// The plan, or what was looked at where there is none.
void print_plan(const v1alpha1::JobSpec& spec, const planner::PlanAnswer& answer, const PlanForm& form);

}  // namespace caravan::cli
