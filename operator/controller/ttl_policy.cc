#include "operator/controller/ttl_policy.h"

namespace caravan::controller {

TtlVerdict judge_ttl(const v1alpha1::JobSpec& spec, const v1alpha1::JobStatus& status, TimePoint now) {
  const auto finished = to_time(status.completion_time());
  if (!spec.has_ttl_seconds_after_finished() || !finished) return {};
  const TimePoint end = *finished + std::chrono::seconds(spec.ttl_seconds_after_finished());
  if (now >= end) return {.expired = true};
  return {.look_again = std::chrono::ceil<std::chrono::milliseconds>(end - now)};
}

}  // namespace caravan::controller
