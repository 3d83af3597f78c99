// Decides what follows from the queue that a job waits in: when its pods may start and where, when they must
// go, and what the queue is told.
//
// The queue is Kueue; the contract of a Workload that somebody else than Kueue makes is kept here. Quota is
// reserved for the Workload, not for pods: how it is given back is queue_departure.h's. A Workload that
// somebody deletes suspends the job, so that nothing runs without quota; one that asks for something else
// than its job does now (queue_change.h) gives way to another. Pure.
#pragma once

#include "operator/controller/queue_verdict.h"

namespace caravan::controller {

QueueVerdict judge_queue(const QueueCase& queued);

}  // namespace caravan::controller
