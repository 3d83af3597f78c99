// How a job's training goes, as its status shows it: on a cluster, and on the page of `caravan run`. Pure.
#pragma once

#include <optional>
#include <vector>

#include "caravan/v1alpha1/coordination.pb.h"
#include "caravan/v1alpha1/job.pb.h"
#include "operator/api/conditions.h"
#include "operator/api/job_object.h"

namespace caravan::controller {

// Of a job that has made no step yet.
void announce_steps(const v1alpha1::JobSpec& spec, v1alpha1::JobStatus& status);

// The step that was made last, as of now; speed and the time that is left as step_speed.h has them.
void show_step(const v1alpha1::JobSpec& spec, const v1alpha1::JobStep& step, TimePoint now,
               v1alpha1::ProgressStatus& shown);

// Running, of an attempt whose ranks start, and of one that makes steps. resumed_step: whose checkpoint it
// went on from.
ConditionChange ranks_start(int attempt, std::optional<int> resumed_step);
ConditionChange steps_advance(int attempt, std::optional<int> resumed_step);
// A condition that was of the attempt before.
ConditionChange ends_with_attempt(const char* condition, int started_attempt);
// CheckpointFailing: from the first save that fails to the next one that does not.
ConditionChange save_failed(const v1alpha1::CheckpointReport& report);
ConditionChange save_complete(int step);

constexpr std::size_t kMostCheckpointsShown = 16;

// The latest first. An operator of an earlier version told of the last one alone.
std::vector<v1alpha1::CheckpointStatus> checkpoints_of(const v1alpha1::JobStatus& status);

// The checkpoint of that step, complete at that time: the last one, and the first of those that are kept. Of
// steps that are trained again there is none any more to go on from.
void show_checkpoint(const v1alpha1::JobSpec& spec, int step, TimePoint at, v1alpha1::JobStatus& status);

}  // namespace caravan::controller
