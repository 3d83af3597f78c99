// What a queue has given a job with its admission: where its pods may run, in which domains of the topology,
// and by what the queue knows them. A queue that replaces a machine that failed sorts the domains anew: pods
// keep those of theirs that are left, and the others get the rest, the nodes of one copy of the model in one
// rack as far as that is known. Pure.
#pragma once

#include <string>

#include "caravan/v1alpha1/plan.pb.h"
#include "operator/children/pod_placement.h"
#include "operator/controller/snapshot.h"

namespace caravan::controller {

// A flavor that is not known yet gives nothing.
struct QueueGrant {
  PodPlacement placement = {};
  std::string conflict = {};  // of what was given with itself or the job; empty: none
  std::string unknown_flavor = {};
};

// Whether it matters in which racks machines are that the queue names: a pod of a job that asks for copies
// within one has none yet. Nodes tell.
bool needs_racks(const Snapshot& snapshot);

QueueGrant grant_of(const Snapshot& snapshot, const WorkloadView& workload, const v1alpha1::JobPlan& plan);

}  // namespace caravan::controller
