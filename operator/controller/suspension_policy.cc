#include "operator/controller/suspension_policy.h"

#include "operator/api/names.h"
#include "operator/controller/conditions.h"

namespace caravan::controller {

Suspension judge_suspension(const v1alpha1::JobSpec& spec, const v1alpha1::JobStatus& status) {
  const bool is_suspended = is_true(status, conditions::kSuspended);
  if (spec.suspend()) return is_suspended ? Suspension::kStay : Suspension::kSuspend;
  return is_suspended ? Suspension::kResume : Suspension::kNone;
}

}  // namespace caravan::controller
