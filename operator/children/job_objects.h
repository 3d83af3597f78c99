// The objects of a job besides its pods and its plan, as JSON intents. Pure: golden files in testdata/ show
// them.
//
// All carry the job's labels and are owned by it, so that deleting the job deletes them.
#pragma once

#include <string>

#include "operator/api/job_object.h"
#include "operator/controller/settings.h"

namespace caravan::controller {

kube::JsonObject job_labels(const Job& job);
// metadata of a child, with what it inherits of the job's.
kube::JsonObject child_metadata(const Job& job, const std::string& name);

// From which on the job has the plan that it has.
int first_attempt_of_plan(const v1alpha1::JobStatus& status);
// A second plan has a name of its own, so that no kubelet shows a new pod the first one that it still has.
std::string plan_name(const Job& job, int first_attempt);
inline std::string plan_name(const Job& job) {
  return plan_name(job, first_attempt_of_plan(job.status));
}
std::string account_name(const Job& job);
// Where every agent finds the coordinator: the stable name of the pod of node 0.
std::string coordinator_host(const Job& job);

// Headless, and names pods before they are ready: agents meet while they start.
kube::Json service_intent(const Job& job);
// Without rights and without a mounted token.
kube::Json account_intent(const Job& job);
// Pods of the job reach each other, the cluster's name servers and the operator, and nothing else; others
// reach metrics only.
kube::Json network_policy_intent(const Job& job, const Settings& settings);

}  // namespace caravan::controller
