// Where a pod may run: what the job asks of machines, and which of them its plan and its failures leave.
#pragma once

#include "operator/api/job_object.h"
#include "operator/children/pod_request.h"

namespace caravan::controller {

// spec: of the pod.
void choose_nodes(const Job& job, const PodRequest& request, kube::JsonObject& spec);

}  // namespace caravan::controller
