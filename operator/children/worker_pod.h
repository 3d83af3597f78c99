// The pod of one node: an agent with its ranks. Pure; golden files in testdata/ show it.
//
// Keeps the Pod Security Standard "restricted". What agents must know of earlier attempts stands in their
// arguments, so that a pod never changes after its creation.
#pragma once

#include <string>

#include "caravan/v1alpha1/plan.pb.h"
#include "operator/api/job_object.h"
#include "operator/children/pod_request.h"
#include "operator/controller/settings.h"

namespace caravan::controller {

// Of the pods of a job that names none.
const std::string& usual_image(const v1alpha1::JobPlan& plan, const Settings& settings);

kube::Json pod_intent(const Job& job, const v1alpha1::JobPlan& plan, const PodRequest& request,
                      const Settings& settings);

}  // namespace caravan::controller
