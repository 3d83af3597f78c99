#include "operator/api/job_conditions.h"

#include <algorithm>

#include "operator/api/names.h"

namespace caravan::controller {

const v1alpha1::Condition* find_condition(const v1alpha1::JobStatus& status, const std::string& type) {
  const auto& all = status.conditions();
  const auto found = std::find_if(all.begin(), all.end(), [&](const auto& c) { return c.type() == type; });
  return found == all.end() ? nullptr : &*found;
}

bool is_true(const v1alpha1::JobStatus& status, const std::string& type) {
  const v1alpha1::Condition* condition = find_condition(status, type);
  return condition != nullptr && condition->status() == "True";
}

bool is_finished(const v1alpha1::JobStatus& status) {
  return is_true(status, conditions::kComplete) || is_true(status, conditions::kFailed);
}

bool is_suspended_by_queue(const v1alpha1::JobStatus& status) {
  const v1alpha1::Condition* suspended = find_condition(status, conditions::kSuspended);
  return suspended != nullptr && suspended->status() == "True" && suspended->reason() == reasons::kByQueue;
}

bool makes_steps(const v1alpha1::JobStatus& status) {
  const v1alpha1::Condition* running = find_condition(status, conditions::kRunning);
  return running != nullptr && running->status() == "True" && running->reason() == reasons::kStepsAdvancing;
}

}  // namespace caravan::controller
