// What one pod is made for, beyond its job and the job's plan.
#pragma once

#include <string>
#include <vector>

#include "operator/children/pod_placement.h"

namespace caravan::controller {

struct PodRequest {
  int node = 0;
  int attempt = 1;
  int first_attempt_of_plan = 1;
  int restarts = 0;                // of the gang, so far
  int short_attempts = 0;          // of them in a row
  std::string certificates = {};   // the set that is complete
  std::string image = {};          // where the job names none; empty: that of the settings
  std::string product_label = {};  // the GPUs that the plan was made for; empty: no node told
  std::vector<std::string> avoided_machines = {};
  const PodPlacement* placement = nullptr;  // of all of the job's pods; null: as the job itself says
};

}  // namespace caravan::controller
