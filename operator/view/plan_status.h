// A job's plan as its status shows it, and what of it can be read back: the layout, of plans of which nothing
// else is remembered (plan_record.h). Pure.
#pragma once

#include "caravan/v1alpha1/job.pb.h"
#include "caravan/v1alpha1/plan.pb.h"

namespace caravan::controller {

// Layout, source, reason and prediction.
void show_plan(const v1alpha1::Plan& plan, v1alpha1::JobStatus& status);

// What an operator before this one showed of its plan.
void fix_layout(const v1alpha1::PlanStatus& shown, v1alpha1::Parallelism& parallelism);

}  // namespace caravan::controller
