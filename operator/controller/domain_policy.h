// Decides which domain of the topology (a rack, a block) each copy of the model gets, where no queue does it.
//
// Copies only exchange gradients, so each may stand elsewhere; the nodes of one copy stay together. A domain
// is chosen by the room that it has now beside other jobs of Caravan, the tightest first, before a pod is
// made, which the other jobs see at once (domain_claims.h), and stays the copy's as long as one of its pods
// is bound there. Pods that wait in a domain that must be theirs are made again for another that has room
// sooner, when all of them are gone. What others run there is not known: pods that find no machine after all
// are given back (gang_policy.h), and made in another domain then; where none of the job has one they stay.
// Pure.
#pragma once

#include "caravan/v1alpha1/plan.pb.h"
#include "operator/children/pod_placement.h"
#include "operator/controller/settings.h"
#include "operator/controller/snapshot.h"
#include "operator/controller/verdict.h"
#include "operator/view/domain_survey.h"

namespace caravan::controller {

// Whether domains matter now: the job asks for a topology that nobody else arranges, and a pod has no
// machine.
bool needs_domains(const Snapshot& snapshot);

// It waits where a domain is required and there is none. message: what could not be kept; empty: nothing.
struct DomainVerdict : Verdict {
  PodPlacement placement = {};
};
DomainVerdict judge_domains(const Snapshot& snapshot, const v1alpha1::JobPlan& plan,
                            const Settings& settings);

// What the pods that are made by a decision ask of the domains that were chosen for them here.
DomainDemands asked_by_new_pods(const Job& job, const Decision& decision, const Settings& settings);

}  // namespace caravan::controller
