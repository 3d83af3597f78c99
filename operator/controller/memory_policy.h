// Decides whether a job is planned again since a rank of it ran out of memory: once a job, where the rank
// says which use of memory grew past its plan (policy/memory_shortage.h).
//
// The next attempt then has another layout, and all pods are made again, since an agent reads its plan when
// it starts. That follows from the status alone: status.memoryCorrection names the attempt that ran out of
// memory, and a pod that was made for it, or for an earlier one, has the old layout. Where no other layout
// fits, the correction names no attempt, and the plan stays. An attempt that makes steps already, as after
// the operator was away, is left in peace. Pure.
#pragma once

#include <optional>
#include <string>

#include "operator/controller/failure_verdict.h"
#include "operator/controller/planning_policy.h"
#include "operator/controller/snapshot.h"

namespace caravan::controller {

// What the reports ask for; nothing where the job has had its correction. status: before it knows of the
// failure.
std::optional<v1alpha1::MemoryCorrection> wanted_correction(const v1alpha1::JobStatus& status,
                                                            const JobProgress& progress);

// Without a plan where no other layout fits. message: what grew, and what follows from it.
struct ShortageVerdict : PlanVerdict {
  v1alpha1::MemoryCorrection correction = {};  // to be remembered
};

// told: what follows from the failure that the coordinator told of last, if any.
ShortageVerdict judge_shortage(const Job& job, const v1alpha1::JobPlan& before,
                               const v1alpha1::MemoryCorrection& wanted, const FailureVerdict& told);

// Its agent has the layout that ran out of memory.
bool has_old_layout(const PodView& pod, const v1alpha1::JobStatus& status);
// Pods are made again in this attempt, so that the loss of one is no failure.
bool is_of_a_new_layout(int attempt, const v1alpha1::JobStatus& status);

}  // namespace caravan::controller
