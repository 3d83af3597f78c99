#include "operator/controller/lifetime_policy.h"

#include <fmt/format.h>

#include <algorithm>

#include "operator/api/cancellation.h"
#include "operator/api/conditions.h"
#include "operator/api/names.h"
#include "operator/controller/end_policy.h"
#include "operator/controller/pod_loss.h"
#include "operator/controller/queue_notice.h"

namespace caravan::controller {
namespace {

// Agents end by themselves when their coordinator has told them of the job's end, and so their logs stay.
constexpr std::chrono::seconds kFarewell{60};
// Of a gang that waits for its next attempt: what does not end soon has lost its coordinator.
constexpr std::chrono::seconds kFarewellOfWaiting{20};

// It has not heard of a failure that is the operator's own decision.
bool coordinator_knows(const Snapshot& seen, const v1alpha1::JobStatus& status, TimePoint now) {
  if (!is_true(status, conditions::kFailed)) return true;
  const EndVerdict told = judge_end(facts_of(seen.job), seen.progress, seen.pods, now);
  return told.course == Verdict::Course::kFails;
}

// Its coordinator waits for the next attempt after a failure that was one too many, and ends all agents as
// soon as it is told to; or it has told that it does.
bool waits_for_next_attempt(const Snapshot& seen, const v1alpha1::JobStatus& status) {
  const v1alpha1::Condition* failed = find_condition(status, conditions::kFailed);
  const bool is_for_failures = failed != nullptr && (failed->reason() == reasons::kMaxRestartsReached ||
                                                     failed->reason() == reasons::kFailurePolicyMatched);
  if (!is_for_failures || !seen.progress) return false;
  const auto newest = newest_by_node(seen.pods);
  const auto coordinator = newest.find(0);
  const bool runs = coordinator != newest.end() && coordinator->second->alive();
  return runs || seen.progress->result.has_value();
}

}  // namespace

Verdict judge_deadline(const v1alpha1::JobSpec& spec, const v1alpha1::JobStatus& status, TimePoint now) {
  const auto start = to_time(status.start_time());
  if (!spec.has_active_deadline_seconds() || !start) return {};
  const TimePoint end = *start + std::chrono::seconds(spec.active_deadline_seconds());
  if (now < end) return {.look_again = until(end, now)};
  return {
      .course = Verdict::Course::kFails,
      .reason = reasons::kDeadlineExceeded,
      .message = fmt::format(
          "{} s have passed since the job began or was resumed (activeDeadlineSeconds); raise it in a new "
          "job, which may go on from the last checkpoint",
          spec.active_deadline_seconds())};
}

Verdict judge_cancellation(const Job& job, const std::vector<PodView>& pods, TimePoint now) {
  if (!is_cancelled(job)) return {};
  const bool some_stay = std::ranges::any_of(pods, [](const PodView& pod) { return !pod.gone_by; });
  if (some_stay || holds_machines(pods, now))
    return {.course = Verdict::Course::kStops, .look_again = until_gone(pods, now)};
  return {.course = Verdict::Course::kFails,
          .reason = kCancelledReason,
          .message = "cancelled by its user; a new job may go on from its last checkpoint"};
}

Verdict judge_time_to_live(const v1alpha1::JobSpec& spec, const v1alpha1::JobStatus& status, TimePoint now) {
  const auto finished = to_time(status.completion_time());
  if (!finished || !spec.has_ttl_seconds_after_finished()) return {};
  const TimePoint end = *finished + std::chrono::seconds(spec.ttl_seconds_after_finished());
  if (now >= end) return {.effects = {DeleteJob{}}};
  return {.look_again = until(end, now)};
}

Verdict judge_finished(const Snapshot& seen, const v1alpha1::JobStatus& status, TimePoint now) {
  const auto finished = to_time(status.completion_time());
  Verdict verdict = judge_time_to_live(seen.job.spec, status, now);
  // With the job goes its Workload, and with that the quota for machines that its pods may still use.
  if (!verdict.effects.empty() && !holds_machines(seen.pods, now)) return verdict;
  verdict.effects = tell_of_end(seen, status, now);
  verdict.look_again = sooner(verdict.look_again, until_gone(seen.pods, now));
  const bool is_known = coordinator_knows(seen, status, now);
  const bool can_be_told = !is_known && waits_for_next_attempt(seen, status);
  const TimePoint farewell = finished.value_or(now) + (is_known ? kFarewell : kFarewellOfWaiting);
  const bool waits = now < farewell && (is_known || can_be_told);
  if (waits) verdict.look_again = sooner(verdict.look_again, until(farewell, now));
  if (waits && can_be_told) verdict.effects.emplace_back(AskToStop{});
  for (const PodView& pod : seen.pods) {
    const bool ends_by_itself = waits && pod.bound();
    if (!pod.is_over() && !pod.gone_by && !ends_by_itself)
      verdict.effects.emplace_back(DeletePod{pod.name, pod.uid});
  }
  return verdict;
}

}  // namespace caravan::controller
