// Decides whether a job has run longer than activeDeadlineSeconds since its startTime, restarts included; a
// job that waits for its first plan or is suspended does not run. Pure.
#pragma once

#include "operator/api/job_object.h"
#include "operator/controller/verdict.h"

namespace caravan::controller {

Verdict judge_deadline(const v1alpha1::JobSpec& spec, const v1alpha1::JobStatus& status, TimePoint now);

}  // namespace caravan::controller
