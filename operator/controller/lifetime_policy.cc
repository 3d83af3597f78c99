#include "operator/controller/lifetime_policy.h"

#include <fmt/format.h>

#include "operator/api/conditions.h"
#include "operator/api/names.h"

namespace caravan::controller {

Suspension judge_suspension(bool is_wanted, const v1alpha1::JobStatus& status) {
  const bool is_suspended = is_true(status, conditions::kSuspended);
  if (is_wanted) return is_suspended ? Suspension::kStay : Suspension::kSuspend;
  return is_suspended ? Suspension::kResume : Suspension::kNone;
}

Verdict judge_deadline(const v1alpha1::JobSpec& spec, const v1alpha1::JobStatus& status, TimePoint now) {
  const auto start = to_time(status.start_time());
  if (!spec.has_active_deadline_seconds() || !start) return {};
  const TimePoint end = *start + std::chrono::seconds(spec.active_deadline_seconds());
  if (now < end) return {.look_again = until(end, now)};
  return {.course = Verdict::Course::kFails,
          .reason = reasons::kDeadlineExceeded,
          .message = fmt::format(
              "the job ran for {} s (activeDeadlineSeconds); raise it in a new job, which may go on from the "
              "last checkpoint",
              spec.active_deadline_seconds())};
}

TtlVerdict judge_ttl(const v1alpha1::JobSpec& spec, const v1alpha1::JobStatus& status, TimePoint now) {
  const auto finished = to_time(status.completion_time());
  if (!spec.has_ttl_seconds_after_finished() || !finished) return {};
  const TimePoint end = *finished + std::chrono::seconds(spec.ttl_seconds_after_finished());
  if (now >= end) return {.expired = true};
  return {.look_again = until(end, now)};
}

}  // namespace caravan::controller
