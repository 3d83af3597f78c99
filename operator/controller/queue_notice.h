// What a queue is told of a job that it has admitted, so that its own rules can be kept: whether the pods
// run, and that the job has ended. Pure.
#pragma once

#include <vector>

#include "operator/controller/effects.h"
#include "operator/controller/snapshot.h"

namespace caravan::controller {

// What the queue waits for before it lets others start, where it is told to.
std::vector<Effect> tell_of_pods(const Snapshot& snapshot, const WorkloadView& workload, int nodes,
                                 TimePoint now);

// Of a job that has ended: nothing before the last pod is gone.
std::vector<Effect> tell_of_end(const Snapshot& snapshot, const v1alpha1::JobStatus& status, TimePoint now);

}  // namespace caravan::controller
