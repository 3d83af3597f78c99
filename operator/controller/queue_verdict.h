// What a decision about a job's queue says, and how it is said. Pure.
#pragma once

#include <string>
#include <vector>

#include "caravan/v1alpha1/plan.pb.h"
#include "operator/children/pod_placement.h"
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

// What it is made from: a job that has a plan and has not ended, with its status as it was read.
struct QueueCase {
  const Snapshot& seen;
  const v1alpha1::JobPlan& plan;
  const Settings& settings;
  TimePoint now;
};

// Says what QuotaReserved says, too; that stays as it was where reason is empty.
QueueVerdict say(QueueVerdict verdict, Verdict::Course course, bool reserved, std::string reason,
                 std::string message);

// No pod is made; those of a job that was admitted go on.
QueueVerdict keep_waiting(const QueueCase& queued, QueueVerdict verdict, bool reserved, std::string reason,
                          std::string message);

}  // namespace caravan::controller
