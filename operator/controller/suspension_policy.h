// Decides whether a job is suspended: by spec.suspend, or by the queue, which takes back what it had given.
//
// The pods of a suspended job are deleted, which has their gang write a checkpoint; it keeps its attempts,
// and the one that it resumes with is the next. The clock of the deadline starts anew with it. What the queue
// has taken back it gives again, and until then the job stays suspended, as does one that its user has
// resumed until the queue may take it in anew. Pure.
#pragma once

#include <optional>

#include "operator/controller/queue_policy.h"
#include "operator/controller/verdict.h"

namespace caravan::controller {

// queue: nothing where nobody could ask it. told_attempt: the last that a coordinator has told of, which a
// status that was not followed during the suspension may not know; 0: none. status: as this decision makes
// it; written to it are what begins anew with a suspension, and the attempt that the job resumes with.
Verdict judge_suspension(const v1alpha1::JobSpec& spec, const std::optional<QueueVerdict>& queue,
                         int told_attempt, v1alpha1::JobStatus& status);

}  // namespace caravan::controller
