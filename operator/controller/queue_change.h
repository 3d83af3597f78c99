// What a job asks its queue for now, and its Workload does not. Pure.
//
// A Workload keeps its queue and its priority class while it holds quota, so these count while it waits only.
// A layout counts also afterwards: slices of pods that are another's keep no copy of the model together.
#pragma once

#include <string>

#include "caravan/v1alpha1/plan.pb.h"
#include "operator/controller/snapshot.h"

namespace caravan::controller {

// Why another Workload must take its place; empty: it need not.
std::string outdated_by(const Snapshot& snapshot, const WorkloadView& workload,
                        const v1alpha1::JobPlan& plan);

}  // namespace caravan::controller
