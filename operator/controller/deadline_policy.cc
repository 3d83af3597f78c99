#include "operator/controller/deadline_policy.h"

#include <fmt/format.h>

#include "proto/caravan/v1alpha1/reasons.h"

namespace caravan::controller {

using std::chrono::milliseconds;

Verdict judge_deadline(const v1alpha1::JobSpec& spec, const v1alpha1::JobStatus& status, TimePoint now) {
  const auto start = to_time(status.start_time());
  if (!spec.has_active_deadline_seconds() || !start) return {};
  const TimePoint end = *start + std::chrono::seconds(spec.active_deadline_seconds());
  if (now < end) return {.look_again = std::chrono::ceil<milliseconds>(end - now)};
  return {.course = Verdict::Course::kFails,
          .reason = reasons::kDeadlineExceeded,
          .message = fmt::format(
              "the job ran for {} s (activeDeadlineSeconds); raise it in a new job, which may go on from the "
              "last checkpoint",
              spec.active_deadline_seconds())};
}

}  // namespace caravan::controller
