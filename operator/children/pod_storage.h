// The volumes of a pod and where its agent and ranks find them.
#pragma once

#include "operator/api/job_object.h"
#include "operator/children/pod_request.h"

namespace caravan::controller {

struct PodStorage {
  kube::JsonArray volumes = {};
  kube::JsonArray mounts = {};
};

// worker: the job's, with defaults. A pod that reports to the operator has a token for that.
PodStorage pod_storage(const Job& job, const v1alpha1::Worker& worker, const PodRequest& request,
                       bool reports);

}  // namespace caravan::controller
