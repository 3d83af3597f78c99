// Decides what follows when pods of a job are lost: whether the gang starts again, at whose cost, or the job
// fails.
//
// A pod that is being deleted is not lost before it has ended: its gang may write a checkpoint first. Every
// restart makes a new attempt, and a loss belongs to the attempt it happened in, so it is counted once,
// whether the operator sees the pod go first or the coordinator tells of it. A pod of an older attempt that
// goes while the gang is not running belongs to the restart that is under way and is not counted. The
// coordinator applies failurePolicy to failures of ranks, which it knows best; lost pods are judged here,
// where it is known why they went, and the budget of both is kept here, in the status. What the policy means
// stands in policy/failure_policy.h. Pure.
#pragma once

#include <string>
#include <vector>

#include "operator/controller/snapshot.h"
#include "operator/controller/verdict.h"

namespace caravan::controller {

// What the end of a rank or the loss of a pod means for its gang.
struct FailureVerdict : Verdict {
  int next_attempt = 0;            // of a restart
  bool counts = true;              // that restart, against failurePolicy.maxRestarts
  std::string machine = {};        // that may be to blame; see machine_policy.h
  bool result_may_follow = false;  // a pod ended by itself, and that may be the end of the job
};

FailureVerdict judge_losses(const v1alpha1::JobSpec& spec, const v1alpha1::JobStatus& status,
                            const std::vector<PodView>& pods, int nodes, TimePoint now);

// The same for what the coordinator told of last; nothing when that is known already. A node can be lost
// before the cluster says what became of its pod: for that the verdict waits a while, unless a new attempt
// has begun.
FailureVerdict judge_report(const v1alpha1::JobSpec& spec, const v1alpha1::JobStatus& status,
                            const JobProgress& progress, const std::vector<PodView>& pods, TimePoint now);

// Goes on to `attempt`, with the restarts in between that the coordinator told of, each at its own cost.
// Attempts that it says nothing of ended before their ranks started, or nobody is left who knows of them:
// they cost nothing.
void count_told_restarts(const v1alpha1::FailurePolicy& policy, const JobProgress& progress,
                         const std::vector<PodView>& pods, int attempt, TimePoint now,
                         v1alpha1::JobStatus& status);

}  // namespace caravan::controller
