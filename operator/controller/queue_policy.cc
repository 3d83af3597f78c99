#include "operator/controller/queue_policy.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "operator/api/conditions.h"
#include "operator/api/job_queue.h"
#include "operator/api/names.h"
#include "operator/controller/pod_loss.h"
#include "operator/controller/pods_policy.h"
#include "operator/controller/queue_change.h"
#include "operator/controller/queue_departure.h"
#include "operator/controller/queue_grant.h"
#include "operator/controller/queue_hindrance.h"
#include "operator/controller/queue_notice.h"
#include "operator/controller/queue_place.h"

namespace caravan::controller {
namespace {

using Course = Verdict::Course;
using Api = QueueView::Api;

// Nobody knows what the job has there. One that has left gets nothing back unseen: its Workload may be
// there still, for other pods than it wants now.
QueueVerdict without_queue(const QueueCase& queued, QueueVerdict verdict) {
  const auto& [seen, plan, settings, now] = queued;
  if (was_deleted(seen.job)) return suspend_deleted(queued, std::move(verdict));
  const auto [reason, message] = hindrance_of_cluster(seen.queue).value_or(QueueHindrance{});
  const bool stays_away = has_left(seen.job) && !seen.job.spec.suspend();
  if (stays_away) return say(std::move(verdict), Course::kStops, false, reason, message);
  // Who does not answer has taken nothing back.
  const bool keeps_quota = seen.queue.api == Api::kUnknown && verdict.gang.admitted();
  return keep_waiting(queued, std::move(verdict), false, keeps_quota ? "" : reason, message);
}

QueueVerdict without_workload(const QueueCase& queued, QueueVerdict verdict) {
  const auto& [seen, plan, settings, now] = queued;
  if (has_left(seen.job)) verdict.gang.clear_workload();
  const bool is_known = !verdict.gang.workload().empty();
  if (is_known || was_deleted(seen.job)) return suspend_deleted(queued, std::move(verdict));
  if (const auto hindrance = hindrance_of_job(seen.job, seen.queue))
    return keep_waiting(queued, std::move(verdict), false, hindrance->reason, hindrance->message);
  // One that is being deleted is waited for.
  if (!seen.queue.workload)
    verdict.effects.emplace_back(
        CreateChild{kWorkloads, workload_intent(seen.job, plan, seen.queue.priority, settings)});
  return keep_waiting(
      queued, std::move(verdict), false, reasons::kPending,
      fmt::format("workload {} is handed to queue {}", workload_name(seen.job), queue_of(seen.job)));
}

QueueVerdict refuse(const QueueCase& queued, QueueVerdict verdict, const std::string& conflict) {
  if (verdict.gang.admitted())  // somebody has changed a flavor
    return keep_waiting(queued, std::move(verdict), true, reasons::kQuotaReserved,
                        "no pod is made while what the queue gave cannot be used: " + conflict);
  return say(std::move(verdict), Course::kFails, true, reasons::kInvalidSpec,
             "what the queue gave cannot be used: " + conflict);
}

QueueVerdict run(const QueueCase& queued, QueueVerdict verdict, const WorkloadView& workload) {
  const auto& [seen, plan, settings, now] = queued;
  QueueGrant grant = grant_of(seen, workload, plan);
  if (!grant.conflict.empty()) return refuse(queued, std::move(verdict), grant.conflict);
  if (!grant.unknown_flavor.empty())
    return keep_waiting(
        queued, std::move(verdict), true, reasons::kQuotaReserved,
        fmt::format("resourceflavor {}, which the queue gave, is not known yet", grant.unknown_flavor));
  verdict.placement = std::move(grant.placement);
  // The first one before any pod is made: it is refused where the queue has changed its mind meanwhile.
  const bool is_first = workload.condition(workload::kPodsReady) == nullptr;
  (is_first ? verdict.effects : verdict.notices) = tell_of_pods(seen, workload, plan.nodes(), now);
  std::ranges::move(deletion_of_strays(seen.pods, verdict.placement), std::back_inserter(verdict.effects));
  verdict.gang.set_admitted(true);
  return say(std::move(verdict), Course::kGoesOn, true, reasons::kQuotaReserved,
             workload.message_of(workload::kAdmitted));
}

QueueVerdict wait(const QueueCase& queued, QueueVerdict verdict, const WorkloadView& workload) {
  const Snapshot& seen = queued.seen;
  const bool must_stop = verdict.gang.admitted() || holds_machines(seen.pods, queued.now) ||
                         is_suspended_by_queue(seen.job.status);
  verdict.gang.clear_admitted();
  verdict.look_again = when_places_change(seen.queue);
  const bool is_judged = workload.condition(workload::kQuotaReserved) != nullptr;
  const bool is_reserved = workload.is_true(workload::kQuotaReserved);
  std::string reason = is_judged ? workload.reason_of(workload::kQuotaReserved) : reasons::kPending;
  std::string message = say_place(seen.queue, workload);
  if (must_stop)
    return say(std::move(verdict), Course::kStops, is_reserved, std::move(reason), std::move(message));
  return keep_waiting(queued, std::move(verdict), is_reserved, std::move(reason), std::move(message));
}

}  // namespace

QueueVerdict judge_queue(const QueueCase& queued) {
  const Job& job = queued.seen.job;
  const auto& workload = queued.seen.queue.workload;
  QueueVerdict verdict;
  verdict.gang = job.status.gang();
  if (gang_provider(job) != v1alpha1::Gang::Kueue) return turn_away(queued, std::move(verdict));
  if (queued.seen.queue.api != Api::kServed) return without_queue(queued, std::move(verdict));
  if (job.spec.suspend()) return leave(queued, std::move(verdict), Course::kWaits);
  const bool is_there = workload && !workload->being_deleted;
  if (has_left(job) && is_there) return leave(queued, std::move(verdict), Course::kStops);
  if (!is_there) return without_workload(queued, std::move(verdict));
  verdict.gang.set_workload(workload->name);
  if (workload->is_true(workload::kFinished)) return stop_finished(std::move(verdict), *workload);
  const bool is_evicted = workload->is_true(workload::kEvicted);
  if (is_evicted && workload->is_true(workload::kQuotaReserved))
    return give_back(queued, std::move(verdict), *workload);
  if (const std::string why = outdated_by(queued.seen, *workload, queued.plan); !why.empty())
    return queue_anew(queued, std::move(verdict), *workload, why);
  const bool may_start = workload->is_true(workload::kAdmitted) && !is_evicted && workload->active;
  return may_start ? run(queued, std::move(verdict), *workload) : wait(queued, std::move(verdict), *workload);
}

}  // namespace caravan::controller
