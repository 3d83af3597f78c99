// The environment of a pod's agent: its place in the job, and the variables of its user.
#pragma once

#include "operator/api/job_object.h"

namespace caravan::controller {

kube::JsonArray pod_environment(const Job& job, int node);

}  // namespace caravan::controller
