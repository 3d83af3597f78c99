// Decides when a gang that no queue and no scheduler places as a whole gives its machines back.
//
// Two gangs that hold a part of what each needs would wait for each other for ever. So one that has had some
// of its machines for scheduling.gang.timeoutSeconds, and waited for the others as long, lets its pods go and
// asks again later, also where pods cannot be made, for whatever reason: the older jobs that wait too get
// their time first, one after another, and each time it waits longer. A gang that has no machine holds
// nothing up and stays. Pure.
#pragma once

#include "operator/controller/snapshot.h"
#include "operator/controller/verdict.h"

namespace caravan::controller {

// kStops: it gives its machines back, or waits since it did.
struct GangVerdict : Verdict {
  v1alpha1::GangStatus gang = {};  // as it is to be remembered
  bool gives_back = false;         // from now on, so that its next pods are another attempt's
};

// job.status: with this decision's attempt.
GangVerdict judge_gang(const Snapshot& snapshot, const v1alpha1::JobStatus& status, int nodes, TimePoint now);

}  // namespace caravan::controller
