// The status of a job that `caravan run` trains, as an operator would write it. Pure.
//
// Who stops the run suspends the job, which goes on from its checkpoints when it is given again; the state
// says Interrupted then, as the summary does.
#pragma once

#include "caravan/v1alpha1/coordination.pb.h"
#include "caravan/v1alpha1/job.pb.h"
#include "caravan/v1alpha1/plan.pb.h"
#include "operator/api/job_object.h"

namespace caravan::cli {

using controller::TimePoint;

v1alpha1::JobStatus first_status(const v1alpha1::JobSpec& spec, const v1alpha1::Plan& plan, TimePoint now);
void show_new_plan(const v1alpha1::Plan& plan, TimePoint now, v1alpha1::JobStatus& status);
void show_report(const v1alpha1::JobSpec& spec, const v1alpha1::JobReport& report, TimePoint now,
                 v1alpha1::JobStatus& status);
void show_end(const v1alpha1::JobResult& result, TimePoint now, v1alpha1::JobStatus& status);

}  // namespace caravan::cli
