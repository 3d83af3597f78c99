// Decides when a job ends before its steps are made, by activeDeadlineSeconds or since its user cancels it,
// and what becomes of it once it is over. Pure.
#pragma once

#include <vector>

#include "operator/controller/snapshot.h"
#include "operator/controller/verdict.h"

namespace caravan::controller {

// Whether the job has run longer than activeDeadlineSeconds since its startTime, restarts included; one that
// waits for its first plan or is suspended does not run.
Verdict judge_deadline(const v1alpha1::JobSpec& spec, const v1alpha1::JobStatus& status, TimePoint now);

// A cancelled job's pods end as in a suspension, so that what they save on their way is told of; then it
// fails.
Verdict judge_cancellation(const Job& job, const std::vector<PodView>& pods, TimePoint now);

// Of a finished job: it goes when ttlSecondsAfterFinished are over, also where another cluster had its pods.
Verdict judge_time_to_live(const v1alpha1::JobSpec& spec, const v1alpha1::JobStatus& status, TimePoint now);

// Of a finished job: its place in a queue is given back, pods of which something still runs are deleted, and
// the job when ttlSecondsAfterFinished are over and no pod may use a machine any more. Where its coordinator
// told of the end, complete or failed, pods that have a machine get a minute to end by themselves; where it
// waits for the next attempt, it is told to stop, and they get less.
Verdict judge_finished(const Snapshot& snapshot, const v1alpha1::JobStatus& status, TimePoint now);

}  // namespace caravan::controller
