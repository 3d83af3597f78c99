// Decides what follows from the queue that a job waits in: when its pods may start and where, when they must
// go, and what the queue is told.
//
// The queue is Kueue; the contract of a Workload that somebody else than Kueue makes is kept here. Quota is
// reserved for the Workload, not for pods: it is given back once no pod is left that could use it, never
// before. A Workload that somebody deletes suspends the job, so that nothing runs without quota; one that
// asks for something else than its job does now (queue_change.h) gives way to another. Pure.
#pragma once

#include "caravan/v1alpha1/plan.pb.h"
#include "operator/controller/settings.h"
#include "operator/controller/snapshot.h"
#include "operator/controller/verdict.h"

namespace caravan::controller {

// kGoesOn: the job has what it asked for, or asks no queue. kWaits: no pod is made before the queue, or
// whoever installs it, says so. kStops: what was given is taken back. kFails: what was given cannot be used.
struct QueueVerdict : Verdict {
  v1alpha1::GangStatus gang = {};    // as it is to be remembered
  PodPlacement placement = {};       // of the pods that may run
  bool makes_no_pods = false;        // what was admitted goes on while nobody knows where new ones may run
  std::vector<Effect> notices = {};  // behind all other effects: the queue may not take them just now
};

// Of a job that has a plan and has not ended. job.status: as it was read.
QueueVerdict judge_queue(const Snapshot& snapshot, const v1alpha1::JobPlan& plan, const Settings& settings,
                         TimePoint now);

}  // namespace caravan::controller
