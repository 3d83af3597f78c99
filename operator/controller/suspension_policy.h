// Decides what spec.suspend means for a job now.
//
// The pods of a suspended job are deleted, which has their gang write a checkpoint; it keeps its attempts,
// and the one that it resumes with is the next. The clock of the deadline starts anew with it. Pure.
#pragma once

#include "operator/api/job_object.h"

namespace caravan::controller {

enum class Suspension { kNone, kSuspend, kStay, kResume };

Suspension judge_suspension(const v1alpha1::JobSpec& spec, const v1alpha1::JobStatus& status);

}  // namespace caravan::controller
