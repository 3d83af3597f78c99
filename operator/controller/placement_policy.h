// Decides what the condition Scheduled says: how far the pods of a job are, and why one does not start, in
// words that its user can act on: what the scheduler and the kubelet say, and what to do about it. Pure.
#pragma once

#include <string>

#include "operator/controller/domain_policy.h"
#include "operator/controller/settings.h"
#include "operator/controller/snapshot.h"
#include "operator/controller/verdict.h"

namespace caravan::controller {

struct PlacementVerdict {
  bool all_bound = false;
  std::string reason = {};
  std::string message = {};
  std::string trouble = {};  // the first thing that holds a pod up
  LookAgain look_again = {};
};

// status: as it becomes, with the condition as it was.
PlacementVerdict judge_placement(const Snapshot& snapshot, const v1alpha1::JobStatus& status,
                                 const v1alpha1::JobPlan& plan, const DomainVerdict& domains,
                                 const Settings& settings, TimePoint now);

}  // namespace caravan::controller
