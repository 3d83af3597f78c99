// Decides what follows from the queue that a job waits in: when its pods may start and where, when they must
// go, and what the queue is told.
//
// The queue is Kueue; the contract of a Workload that somebody else than Kueue makes is kept here. Quota is
// reserved for the Workload, not for pods: it is given back once no pod is left that could use it, never
// before. A Workload that somebody deletes suspends the job, so that nothing runs without quota. Pure.
#pragma once

#include <string>
#include <vector>

#include "caravan/v1alpha1/plan.pb.h"
#include "operator/controller/effects.h"
#include "operator/controller/settings.h"
#include "operator/controller/snapshot.h"

namespace caravan::controller {

struct QueueVerdict {
  enum class Course {
    kNotQueued,  // no queue is asked
    kRuns,       // the job has what it asked for
    kWaits,      // no pod is made
    kStops,      // what was given is taken back: pods end, behind a checkpoint where the job has some
    kHolds,      // nobody knows: what runs goes on, and nothing is made
    kFails,      // what was given cannot be used
  };
  Course course = Course::kNotQueued;
  // For the condition QuotaReserved; an empty reason leaves it as it is.
  bool reserved = false;
  std::string reason = {};
  std::string message = {};
  v1alpha1::GangStatus gang = {};  // as it is to be remembered
  std::vector<Effect> effects = {};
  PodPlacement placement = {};  // of the pods that may run
  LookAgain look_again = {};
};

// Of a job that has a plan and has not ended. job.status: as it was read.
QueueVerdict judge_queue(const Snapshot& snapshot, const v1alpha1::JobPlan& plan, const Settings& settings,
                         TimePoint now);

// Of one that has ended: what the queue is told, when no pod is left.
std::vector<Effect> leave_queue(const Snapshot& snapshot, const v1alpha1::JobStatus& status, TimePoint now);

}  // namespace caravan::controller
