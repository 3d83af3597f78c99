// The restarts of a job as its status remembers them: how many there were, and how many of them count against
// failurePolicy.maxRestarts. Pure.
#pragma once

#include "operator/controller/failure_verdict.h"
#include "policy/failure_policy.h"

namespace caravan::controller {

policy::Budget budget_of(const v1alpha1::JobStatus& status);

// A restart; nothing when its attempt is known already.
void count_restart(const v1alpha1::FailurePolicy& policy, const FailureVerdict& restart, TimePoint now,
                   v1alpha1::JobStatus& status);

}  // namespace caravan::controller
