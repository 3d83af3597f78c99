// How a job leaves its queue, or is sent away: what becomes of its Workload and of the quota, which is given
// back once no pod is left that could use it, never before. Each answers with the verdict that was begun.
// Pure.
#pragma once

#include <string>

#include "operator/controller/queue_verdict.h"

namespace caravan::controller {

// Its user had suspended the job when it was last looked at.
bool has_left(const Job& job);
// Somebody has deleted its Workload, and the job was told so.
bool was_deleted(const Job& job);

// The job asked for a queue once, and does so no longer.
QueueVerdict turn_away(const QueueCase& queued, QueueVerdict verdict);

// The user suspends the job: it waits in no queue meanwhile, and may ask for something else afterwards.
QueueVerdict leave(const QueueCase& queued, QueueVerdict verdict, Verdict::Course course);

// Somebody has deleted the Workload.
QueueVerdict suspend_deleted(const QueueCase& queued, QueueVerdict verdict);

// The queue has ended the Workload.
QueueVerdict stop_finished(QueueVerdict verdict, const WorkloadView& workload);

// The queue evicts the job.
QueueVerdict give_back(const QueueCase& queued, QueueVerdict verdict, const WorkloadView& workload);

// Another Workload takes the place of one that asks for something else than the job does now. why: of
// queue_change.h.
QueueVerdict queue_anew(const QueueCase& queued, QueueVerdict verdict, const WorkloadView& workload,
                        const std::string& why);

}  // namespace caravan::controller
