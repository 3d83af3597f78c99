#include "operator/controller/queue_verdict.h"

#include <utility>

#include "operator/api/conditions.h"
#include "operator/api/names.h"

namespace caravan::controller {
namespace {

// The condition Scheduled says so too, but for a job whose pods may run, and one that is suspended.
ConditionChange say_who_is_waited_for(const Snapshot& seen, const std::string& message) {
  return set_condition(conditions::kScheduled, false, reasons::kWaitingForQuota,
                       "no pod is made before the queue admits the job: " + message +
                           (seen.trouble.empty() ? "" : "; " + seen.trouble));
}

}  // namespace

QueueVerdict say(QueueVerdict verdict, Verdict::Course course, bool reserved, std::string reason,
                 std::string message) {
  if (!reason.empty())
    verdict.conditions.push_back(set_condition(conditions::kQuotaReserved, reserved, reason, message));
  verdict.course = course;
  verdict.reason = std::move(reason);
  verdict.message = std::move(message);
  return verdict;
}

QueueVerdict keep_waiting(const QueueCase& queued, QueueVerdict verdict, bool reserved, std::string reason,
                          std::string message) {
  const Job& job = queued.seen.job;
  const bool is_suspended = job.spec.suspend() || is_suspended_by_queue(job.status);
  verdict.makes_no_pods = verdict.gang.admitted();
  const auto course = verdict.makes_no_pods ? Verdict::Course::kGoesOn : Verdict::Course::kWaits;
  verdict = say(std::move(verdict), course, reserved, std::move(reason), std::move(message));
  if (!verdict.makes_no_pods && !is_suspended && !verdict.message.empty())
    verdict.conditions.push_back(say_who_is_waited_for(queued.seen, verdict.message));
  return verdict;
}

}  // namespace caravan::controller
