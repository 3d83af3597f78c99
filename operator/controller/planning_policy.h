// Decides the plan of a job: the layout, the number of pods, and everything its agents are told.
//
// Devices that the job does not describe are read from the nodes. Pods are bound to the nodes whose label
// says the product, whether the job named it or a node did. A plan that was made stands: the layout never
// changes under a running job, only what users may change meanwhile (time-outs, the failure policy) is
// carried over. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "caravan/v1alpha1/plan.pb.h"
#include "operator/controller/snapshot.h"

namespace caravan::controller {

struct PlanVerdict {
  std::optional<v1alpha1::JobPlan> plan = {};
  std::string reason = {};  // of the condition Planned
  std::string message = {};
  bool final = false;  // without a plan: no change of the cluster can help
};

PlanVerdict judge_plan(const Job& job, const std::vector<NodeView>& nodes,
                       const std::optional<PlanView>& made);

void show_plan(const v1alpha1::Plan& plan, v1alpha1::JobStatus& status);

}  // namespace caravan::controller
