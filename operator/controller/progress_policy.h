// Decides what a job's status says of its run: attempts, steps and checkpoints.
//
// Reports may come twice, late or never: attempts only grow. Steps are shown at most every 30 s, everything
// else at once. Pure.
#pragma once

#include <vector>

#include "operator/controller/look_again.h"
#include "operator/controller/snapshot.h"

namespace caravan::controller {

// Brings attempts and the conditions Running, Restarting, Stalled and Straggling up to the attempt that was
// reported.
void follow_attempts(const v1alpha1::JobSpec& spec, const JobProgress& progress,
                     const std::vector<PodView>& pods, int generation, TimePoint now,
                     v1alpha1::JobStatus& status);

// The condition CheckpointFailing.
void follow_saves(const JobProgress& progress, int generation, TimePoint now, v1alpha1::JobStatus& status);

// The request for a checkpoint that nobody has answered yet; a job that makes no steps is not asked. Named so
// that no other job of the same folder answers it.
std::optional<std::string> wanted_checkpoint(const Job& job, const v1alpha1::JobStatus& status);

// Remembers the annotation's value when it was answered.
void follow_request(const Job& job, const JobProgress& progress, v1alpha1::JobStatus& status);

// Until there is more to show. urgent: something else of the status changes with it.
LookAgain show_progress(const v1alpha1::JobSpec& spec, const JobProgress& progress, bool urgent,
                        TimePoint now, v1alpha1::JobStatus& status);

}  // namespace caravan::controller
