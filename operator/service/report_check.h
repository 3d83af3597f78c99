// Whether a report can be true, asked before anything of it reaches a status.
//
// Reports and last words come from a pod in which users run what they like. What is impossible is refused
// with what is wrong; of the rest, only what the operator reads is kept: of a step the peak of the fullest
// rank, of texts at most 1 kB that shows on a terminal as it is. A reason that we do not know, as an agent of
// a later version may have, becomes RankFailed. A loss that is no number is information. Pure.
#pragma once

#include "caravan/v1alpha1/coordination.pb.h"
#include "common/result.h"
#include "operator/api/job_object.h"

namespace caravan::controller {

struct JobFacts {
  int steps = 0;  // 0: not known
  TimePoint created_at{};
};
inline JobFacts facts_of(const Job& job) {
  return {.steps = job.spec.training().steps(), .created_at = job.created_at};
}

Result<v1alpha1::JobReport> check_report(const v1alpha1::JobReport& report, const JobFacts& job,
                                         TimePoint now);
Result<v1alpha1::JobResult> check_result(const v1alpha1::JobResult& result, const JobFacts& job,
                                         TimePoint now);

}  // namespace caravan::controller
