// Decides what spec says of when a job runs: suspend, activeDeadlineSeconds, ttlSecondsAfterFinished. Pure.
#pragma once

#include "operator/controller/verdict.h"

namespace caravan::controller {

// The pods of a suspended job are deleted, which has their gang write a checkpoint; it keeps its attempts,
// and the one that it resumes with is the next. The clock of the deadline starts anew with it.
// is_wanted: by spec.suspend, or by the queue that takes back what it had given.
enum class Suspension { kNone, kSuspend, kStay, kResume };
Suspension judge_suspension(bool is_wanted, const v1alpha1::JobStatus& status);

// Whether the job has run longer than activeDeadlineSeconds since its startTime, restarts included; one that
// waits for its first plan or is suspended does not run.
Verdict judge_deadline(const v1alpha1::JobSpec& spec, const v1alpha1::JobStatus& status, TimePoint now);

// When a finished job is deleted.
struct TtlVerdict {
  bool expired = false;
  LookAgain look_again = {};  // absent: never, or expired
};
TtlVerdict judge_ttl(const v1alpha1::JobSpec& spec, const v1alpha1::JobStatus& status, TimePoint now);

}  // namespace caravan::controller
