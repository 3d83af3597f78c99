// What is to be done about one job: snapshot and time in, new status, effects, events and the next look out.
//
// The policies of this folder, in order. Pure: same arguments, same decision. What was decided but not
// carried out is decided again from the next snapshot, so a crash between any two writes costs nothing:
// everything that must be remembered stands in the status, which is written first. A suspension that nobody
// saw (unseen_suspension.h) is decided on as it was, and the job as it is now right after that.
#pragma once

#include "operator/controller/effects.h"
#include "operator/controller/settings.h"
#include "operator/controller/snapshot.h"

namespace caravan::controller {

Decision decide(const Snapshot& snapshot, const Settings& settings, TimePoint now);

}  // namespace caravan::controller
