// Decides what follows when pods of a job are lost: whether the gang starts again, at whose cost, or the job
// fails.
//
// A pod that is being deleted is not lost before it has ended: its gang may write a checkpoint first. Every
// restart makes a new attempt, and a loss belongs to the attempt it happened in, so it is counted once,
// whether the operator sees the pod go first or the coordinator tells of it. A pod of an older attempt that
// goes while the gang is not running belongs to the restart that is under way and is not counted. The
// coordinator applies failurePolicy to failures of ranks, which it knows best (told_failure.h); lost pods are
// judged here, where it is known why they went, and the budget of both is kept in the status. Why a pod went
// while nobody led only its coordinator may know, who tells whoever leads since. What the policy means stands
// in policy/failure_policy.h. Pure.
#pragma once

#include <vector>

#include "operator/controller/failure_verdict.h"
#include "operator/controller/snapshot.h"

namespace caravan::controller {

// The pod that is made again, since agents that run have not joined their gang for long: the first of those,
// or the coordinator's where nobody has found it. Null: none, as while one of them is on its way.
const PodView* absent_pod(const std::optional<JobProgress>& progress, const std::vector<PodView>& pods);

FailureVerdict judge_losses(const v1alpha1::JobSpec& spec, const v1alpha1::JobStatus& status,
                            const std::vector<PodView>& pods, int nodes, TimePoint now,
                            TimePoint reported_to_since = {});

}  // namespace caravan::controller
