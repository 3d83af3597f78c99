// The restarts of a job as its status remembers them: how many there were, and how many of them count against
// failurePolicy.maxRestarts. Pure.
#pragma once

#include <string>

#include "operator/controller/verdict.h"
#include "policy/failure_policy.h"

namespace caravan::controller {

policy::Budget budget_of(const v1alpha1::JobStatus& status);

// What the loss of a rank or a pod means for its gang.
struct LossVerdict : Verdict {
  int next_attempt = 0;            // of a restart
  bool counts = true;              // that restart, against failurePolicy.maxRestarts
  std::string machine = {};        // that may be to blame; see machine_policy.h
  bool result_may_follow = false;  // a pod ended by itself, and that may be the end of the job
};

// A restart; nothing when its attempt is known already.
void count_restart(const v1alpha1::FailurePolicy& policy, const LossVerdict& restart, TimePoint now,
                   v1alpha1::JobStatus& status);

}  // namespace caravan::controller
