// Decides whether a pod that is dead, or being deleted, stands in the way of its node's next one, and how
// long. Pure.
#pragma once

#include "operator/controller/look_again.h"
#include "operator/view/pod_view.h"

namespace caravan::controller {

struct DeadPod {
  bool in_the_way = false;
  bool is_deleted = false;  // by this decision
  LookAgain look_again = {};
};

// pod: of the job, and not alive. job.status: with this decision's attempt and restarts.
DeadPod judge_dead_pod(const Job& job, const PodView& pod, TimePoint now);

}  // namespace caravan::controller
