// Decides when a finished job is deleted (ttlSecondsAfterFinished). Pure.
#pragma once

#include <optional>

#include "operator/api/job_object.h"

namespace caravan::controller {

struct TtlVerdict {
  bool expired = false;
  std::optional<std::chrono::milliseconds> look_again = {};  // absent: never, or expired
};

TtlVerdict judge_ttl(const v1alpha1::JobSpec& spec, const v1alpha1::JobStatus& status, TimePoint now);

}  // namespace caravan::controller
