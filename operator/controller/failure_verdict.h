// What the end of a rank or the loss of a pod means for its gang. Pure.
#pragma once

#include <string>

#include "operator/controller/pod_loss.h"
#include "operator/controller/snapshot.h"
#include "operator/controller/verdict.h"
#include "policy/failure_policy.h"

namespace caravan::controller {

struct FailureVerdict : Verdict {
  int next_attempt = 0;      // of a restart
  bool counts = true;        // that restart, against failurePolicy.maxRestarts
  std::string machine = {};  // that may be to blame; see machine_policy.h
  // Of a pod that ended by itself, which may be the end of the job, or is gone: its coordinator may tell.
  bool word_may_follow = false;
};

// What the policy has decided of this attempt, in words; reason: of a restart.
FailureVerdict verdict_of(const policy::Decision& decision, int attempt, const std::string& reason,
                          const std::string& what);

// Of a pod of this attempt, described by `what`. Those that the operator itself deleted cost nothing.
FailureVerdict judge_end_of_pod(const v1alpha1::FailurePolicy& policy, const v1alpha1::JobStatus& status,
                                const policy::Failure& failure, const std::string& what, int attempt,
                                TimePoint now);

// Of a pod of this attempt that is lost.
FailureVerdict judge_loss(const v1alpha1::FailurePolicy& policy, const v1alpha1::JobStatus& status,
                          const Loss& loss, int attempt, TimePoint now);

}  // namespace caravan::controller
