// What a pod asks of its machine: cores, memory, devices, and whatever else its job names.
//
// Ranks on GPUs get cores and memory near their devices where the job says nothing of these. Ranks on
// processors do not: the number of their threads, and with it every bit of the result, follows from the cores
// that the job asks for.
#pragma once

#include "caravan/v1alpha1/plan.pb.h"
#include "operator/api/job_object.h"
#include "operator/controller/settings.h"
#include "operator/view/worker_devices.h"

namespace caravan::controller {

// worker: the job's, with defaults. ranks: of this pod.
kube::JsonObject pod_resources(const v1alpha1::Worker& worker, const v1alpha1::JobPlan& plan, int ranks,
                               const Settings& settings);

// The pod's resourceClaims, of which its container uses each.
kube::JsonArray pod_claims(const v1alpha1::Worker& worker);

}  // namespace caravan::controller
