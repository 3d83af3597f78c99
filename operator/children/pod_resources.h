// What a pod asks of its machine.
#pragma once

#include "operator/api/job_object.h"

namespace caravan::controller {

// Threads of one rank on a CPU: results depend on them, so they come from the job alone.
int threads_per_rank(const v1alpha1::JobSpec& spec, int ranks_per_pod);

// Requests and limits; worker: the job's, with defaults.
kube::JsonObject pod_resources(const Job& job, const v1alpha1::Worker& worker, int ranks);

}  // namespace caravan::controller
