// Decides what follows from what the coordinator told of failures.
//
// It has applied the rules of failurePolicy to ranks, which it knows best; the budget is the status's. Of a
// node that it lost, or that was told to end, the pod may say why, so that is judged here (failure_policy.h).
// Pure.
#pragma once

#include <chrono>
#include <vector>

#include "operator/controller/failure_verdict.h"
#include "operator/controller/snapshot.h"

namespace caravan::controller {

// Of what it told last; nothing when that is known already. A node can be lost before the cluster says what
// became of its pod: for that the verdict waits a while, unless a new attempt has begun. agent_patience:
// after which an agent is lost that is not heard of.
FailureVerdict judge_report(const v1alpha1::JobSpec& spec, const v1alpha1::JobStatus& status,
                            const JobProgress& progress, const std::vector<PodView>& pods, TimePoint now,
                            std::chrono::seconds agent_patience);

// Goes on to `attempt`, with the restarts in between that the coordinator told of, each at its own cost.
// Attempts that it says nothing of ended before their ranks started, or nobody is left who knows of them:
// they cost nothing.
void count_told_restarts(const v1alpha1::FailurePolicy& policy, const JobProgress& progress,
                         const std::vector<PodView>& pods, int attempt, TimePoint now,
                         v1alpha1::JobStatus& status);

}  // namespace caravan::controller
