#include "operator/controller/suspension_policy.h"

#include <algorithm>

#include "operator/api/names.h"

namespace caravan::controller {
namespace {

using Course = Verdict::Course;

void suspend(v1alpha1::JobStatus& status, Verdict& verdict) {
  const auto clear = [&](const char* type) {
    verdict.conditions.push_back(clear_condition(type, conditions::kSuspended, "the job is suspended"));
  };
  clear(conditions::kScheduled);
  std::ranges::for_each(conditions::kOfPods, clear);
  status.clear_start_time();
  status.clear_short_attempts();
  status.clear_worker_image();
  if (status.has_gang()) status.mutable_gang()->clear_waits_until();
}

const char* why_resumed(const std::optional<QueueVerdict>& queue, const v1alpha1::JobStatus& status) {
  if (!is_suspended_by_queue(status)) return "spec.suspend is false";
  return queue && queue->gang.admitted() ? "the queue has admitted the job"
                                         : "the job asks for no queue any more";
}

Verdict resume(const std::optional<QueueVerdict>& queue, int told_attempt, v1alpha1::JobStatus& status) {
  if (status.attempt() > 0) status.set_attempt(std::max(status.attempt(), told_attempt) + 1);
  return {.conditions = {
              set_condition(conditions::kSuspended, false, reasons::kResumed, why_resumed(queue, status))}};
}

// Of a job that its user has resumed: its queue takes it in again, but not at once.
const char* told_of_user(const v1alpha1::JobSpec& spec, const std::optional<QueueVerdict>& queue) {
  if (spec.suspend()) return "spec.suspend is true; set it to false to go on";
  return queue && queue->reason == conditions::kSuspended
             ? "resumed; it queues anew when its pods are gone"
             : "resumed; it queues anew when the queue can be asked";
}

}  // namespace

Verdict judge_suspension(const v1alpha1::JobSpec& spec, const std::optional<QueueVerdict>& queue,
                         int told_attempt, v1alpha1::JobStatus& status) {
  const bool is_suspended = is_true(status, conditions::kSuspended);
  const bool may_go_on = queue && queue->course == Course::kGoesOn;
  const bool by_queue =
      (queue && queue->course == Course::kStops) || (is_suspended_by_queue(status) && !may_go_on);
  if (!spec.suspend() && !by_queue) return is_suspended ? resume(queue, told_attempt, status) : Verdict();
  Verdict verdict{.course = Course::kStops};
  if (spec.suspend() || (is_suspended && !is_suspended_by_queue(status))) {
    verdict.conditions = {
        set_condition(conditions::kSuspended, true, reasons::kByUser, told_of_user(spec, queue))};
  } else if (queue && !queue->message.empty()) {
    verdict.conditions = {set_condition(conditions::kSuspended, true, reasons::kByQueue, queue->message)};
  }
  if (!is_suspended) suspend(status, verdict);
  return verdict;
}

}  // namespace caravan::controller
