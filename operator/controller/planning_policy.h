// Decides the plan of a job: the layout, the number of pods, and everything its agents are told.
//
// What no nodes would mend fails the job before they are asked. Devices that the job does not describe are
// read from the nodes. Pods are bound to the nodes whose label says the product, whether the job named it or
// a node did; where none says what the job named, to those that say nothing else. A plan that was made
// stands, whatever this version would plan or refuse today: it is read from the status (plan_record.h), and
// what this version does not know of it, or would not allow, is told in the condition. Of a plan that an
// operator before this one made, the status has the layout's sizes only; the rest is planned again around
// them. Pure.
#pragma once

#include <vector>

#include "caravan/v1alpha1/plan.pb.h"
#include "operator/controller/plan_verdict.h"
#include "operator/controller/snapshot.h"

namespace caravan::controller {

PlanVerdict judge_plan(const Job& job, const std::vector<NodeView>& nodes);

// The plan in place of one whose ranks ran out of memory, for the same devices; without a plan where no other
// layout fits.
PlanVerdict plan_after_shortage(const Job& job, const v1alpha1::JobPlan& before,
                                const v1alpha1::MemoryCorrection& correction);

}  // namespace caravan::controller
