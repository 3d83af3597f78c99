// Decides whether a job has run longer than activeDeadlineSeconds, restarts included. Pure.
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
