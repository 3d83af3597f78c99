// How a job's training goes, as its status shows it. Pure.
#pragma once

#include <vector>

#include "caravan/v1alpha1/coordination.pb.h"
#include "caravan/v1alpha1/job.pb.h"
#include "operator/api/job_object.h"

namespace caravan::controller {

// Of a job that has made no step yet.
void announce_steps(const v1alpha1::JobSpec& spec, v1alpha1::JobStatus& status);

// The step that was made last, as of now.
void show_step(const v1alpha1::JobSpec& spec, const v1alpha1::JobStep& step, TimePoint now,
               v1alpha1::ProgressStatus& shown);

constexpr std::size_t kMostCheckpointsShown = 16;

// The latest first. An operator of an earlier version told of the last one alone.
std::vector<v1alpha1::CheckpointStatus> checkpoints_of(const v1alpha1::JobStatus& status);

// The checkpoint of that step, complete at that time: the last one, and the first of those that are kept. Of
// steps that are trained again there is none any more to go on from.
void show_checkpoint(const v1alpha1::JobSpec& spec, int step, TimePoint at, v1alpha1::JobStatus& status);

}  // namespace caravan::controller
