// The pod of one node: an agent with its ranks. Pure; golden files in testdata/ show it.
//
// Keeps the Pod Security Standard "restricted". What agents must know of earlier attempts stands in their
// arguments, so that a pod never changes after its creation.
#pragma once

#include <string>
#include <vector>

#include "caravan/v1alpha1/plan.pb.h"
#include "operator/api/job_object.h"
#include "operator/controller/settings.h"

namespace caravan::controller {

struct PodRequest {
  int node = 0;
  int attempt = 1;
  int first_attempt_of_plan = 1;
  int restarts = 0;                // of the gang, so far
  int short_attempts = 0;          // of them in a row
  std::string certificates = {};   // the set that is complete
  std::string product_label = {};  // the GPUs that the plan was made for; empty: any node
  std::vector<std::string> avoided_machines = {};
};

std::string pod_name(const Job& job, int node, int attempt);

// Threads of one rank on a CPU: results depend on them, so they come from the job alone.
int threads_per_rank(const v1alpha1::JobSpec& spec, int ranks_per_pod);

kube::Json pod_intent(const Job& job, const v1alpha1::JobPlan& plan, const PodRequest& request,
                      const Settings& settings);

}  // namespace caravan::controller
