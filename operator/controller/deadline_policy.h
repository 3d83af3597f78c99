// Decides whether a job has run longer than activeDeadlineSeconds since its startTime, restarts included; a
// job that waits for its first plan or is suspended does not run. Pure.
#pragma once

#include <optional>
#include <string>

#include "operator/api/job_object.h"

namespace caravan::controller {

struct DeadlineVerdict {
  bool over = false;
  std::string message = {};
  std::optional<std::chrono::milliseconds> look_again = {};  // absent: no deadline, or over
};

DeadlineVerdict judge_deadline(const v1alpha1::JobSpec& spec, const v1alpha1::JobStatus& status,
                               TimePoint now);

}  // namespace caravan::controller
