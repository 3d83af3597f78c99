// What a job waits for in its queue and where it stands there, as far as its status tells. Pure.
#pragma once

#include <string>

#include "operator/controller/look_again.h"
#include "operator/controller/snapshot.h"

namespace caravan::controller {

// What a Workload that is not admitted waits for: quota, and its place there, or admission checks, without
// whom quota starts nothing.
std::string say_place(const QueueView& queue, const WorkloadView& workload);

LookAgain when_places_change(const QueueView& queue);

}  // namespace caravan::controller
