// The environment of a pod's agent: its place in the job, and the variables of its user.
#pragma once

#include "caravan/v1alpha1/plan.pb.h"
#include "operator/api/job_object.h"

namespace caravan::controller {

kube::JsonArray pod_environment(const Job& job, const v1alpha1::JobPlan& plan, int node);

}  // namespace caravan::controller
