// The objects by which schedulers of gangs (Volcano, coscheduling of scheduler-plugins) know which pods are
// to get their machines together. Pure.
#pragma once

#include "caravan/v1alpha1/plan.pb.h"
#include "kube/api/resource_path.h"
#include "operator/api/job_object.h"
#include "operator/children/pod_placement.h"

namespace caravan::controller {

struct PodGroup {
  kube::Resource resource;
  kube::Json object;
};

// Of a job whose gang provider is Volcano or Coscheduling.
PodGroup pod_group_intent(const Job& job, const v1alpha1::JobPlan& plan);
// How its pods name the group and the scheduler that knows it.
void join_pod_group(const Job& job, PodPlacement& placement);

}  // namespace caravan::controller
