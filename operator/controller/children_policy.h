// Decides which children of a job are to be made, replaced or brought up to date: its Service, account and
// network policy, the ConfigMap with the plan, and its pods (pods_policy.h).
//
// What pods that run read and pass through is kept up also while no other pod may be made: whoever takes over
// the lead is heard by way of it. A plan that somebody else has changed or taken away is written anew, and an
// event tells of it. Pure.
#pragma once

#include <string>

#include "caravan/v1alpha1/plan.pb.h"
#include "operator/controller/settings.h"
#include "operator/controller/snapshot.h"
#include "operator/controller/verdict.h"

namespace caravan::controller {

struct ChildrenVerdict : Verdict {
  bool new_certificates = false;      // for the pods that are made
  std::string plan_fingerprint = {};  // of the ConfigMap that is wanted
};

// Why the job gets no new pods whatever machines there are; empty: it may.
std::string refusal_of_pods(const v1alpha1::JobSpec& spec, const Settings& settings);

// job.status: with this decision's attempt and restarts. makes_pods: pods may be made and deleted, too.
ChildrenVerdict judge_children(const Job& job, const Snapshot& snapshot, const v1alpha1::JobPlan& plan,
                               bool makes_pods, const Settings& settings, TimePoint now);

}  // namespace caravan::controller
