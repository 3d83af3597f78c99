// Decides which children of a job are to be made, replaced or brought up to date.
//
// Every node has one living pod: a dead one is deleted and replaced alone, under the name of the present
// attempt. A pod that is being deleted is waited for until its grace is over; one that died is replaced after
// the pause that failurePolicy's library asks for, the longer the more attempts in a row were short. One on a
// machine that failed twice is made again elsewhere. Pods of
// one job have certificates of one set: a pod that is made when that is missing or old brings a new one, and
// those that have another are replaced with it. A plan that somebody else has changed or taken away is
// written anew, and an event tells of it. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "caravan/v1alpha1/plan.pb.h"
#include "operator/controller/effects.h"
#include "operator/controller/settings.h"
#include "operator/controller/snapshot.h"

namespace caravan::controller {

struct ChildrenVerdict {
  std::vector<Effect> effects = {};
  bool new_certificates = false;      // for the pods that are made
  std::string plan_fingerprint = {};  // of the ConfigMap that is wanted
  std::optional<std::chrono::milliseconds> look_again = {};
};

// job.status: with this decision's attempt and restarts.
ChildrenVerdict judge_children(const Job& job, const Snapshot& snapshot, const v1alpha1::JobPlan& plan,
                               const Settings& settings, TimePoint now);

// How far the pods are: for the condition Scheduled.
struct PodsVerdict {
  bool all_bound = false;
  std::string message = {};
  std::string trouble = {};  // the first thing that holds a pod up
  std::optional<std::chrono::milliseconds> look_again = {};
};
PodsVerdict judge_pods(const Snapshot& snapshot, int nodes, TimePoint now);

}  // namespace caravan::controller
