// How a user ends a job for good: an annotation, which the job service and the command line write and the
// operator obeys.
#pragma once

#include <string>

#include "operator/api/job_object.h"
#include "operator/api/names.h"

namespace caravan::controller {

inline constexpr char kCancelled[] = "true";  // of annotations::kCancel; any other value means nothing
inline constexpr char kCancelledReason[] = "Cancelled";  // of the condition Failed

inline bool is_cancelled(const Job& job) {
  const auto found = job.annotations.find(annotations::kCancel);
  return found != job.annotations.end() && found->second == kCancelled;
}

}  // namespace caravan::controller
