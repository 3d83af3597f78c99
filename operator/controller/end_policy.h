// Decides whether a job is over, and how it ended: by what its coordinator reported, or by the exit code and
// the last words of the pod of node 0 when no report came. An exit code alone is an end only where the last
// step was reported: else the pod is lost. Pure.
#pragma once

#include <optional>
#include <vector>

#include "operator/controller/snapshot.h"
#include "operator/controller/verdict.h"
#include "operator/service/report_check.h"

namespace caravan::controller {

struct EndVerdict : Verdict {
  // When the last words of a pod tell of them.
  std::optional<v1alpha1::JobStep> last_step = {};
  std::optional<v1alpha1::JobCheckpoint> last_checkpoint = {};  // that is complete
  int restarts = 0;  // at least so many, of which not all may have been told
};

// Last words that cannot be true (see report_check.h) are not heard.
EndVerdict judge_end(const JobFacts& job, const std::optional<JobProgress>& progress,
                     const std::vector<PodView>& pods, TimePoint now);

}  // namespace caravan::controller
