#include "operator/controller/queue_departure.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "operator/api/conditions.h"
#include "operator/api/names.h"
#include "operator/controller/pod_loss.h"

namespace caravan::controller {
namespace {

using Course = Verdict::Course;

DeleteChild deletion_of(const WorkloadView& workload) {
  return {kWorkloads, workload.name, workload.uid};
}

QueueVerdict stop(QueueVerdict verdict, std::string message) {
  verdict.gang.clear_admitted();
  return say(std::move(verdict), Course::kStops, false, reasons::kPending, std::move(message));
}

// What its queue gave. Of pods that run on, as the job does without a queue, none does.
bool still_used(const QueueCase& queued) {
  return std::ranges::any_of(queued.seen.pods, [&](const PodView& pod) {
    return (queued.seen.job.spec.suspend() || pod.gone_by) && pod.holds_machine(queued.now);
  });
}

}  // namespace

bool has_left(const Job& job) {
  return is_true(job.status, conditions::kSuspended) && !is_suspended_by_queue(job.status);
}

bool was_deleted(const Job& job) {
  const v1alpha1::Condition* quota = find_condition(job.status, conditions::kQuotaReserved);
  return quota != nullptr && quota->reason() == reasons::kWorkloadDeleted &&
         is_suspended_by_queue(job.status);
}

QueueVerdict turn_away(const QueueCase& queued, QueueVerdict verdict) {
  const auto& workload = queued.seen.queue.workload;
  if (still_used(queued))
    verdict.look_again = until_gone(queued.seen.pods, queued.now);
  else if (workload && !workload->being_deleted)
    verdict.effects.emplace_back(deletion_of(*workload));
  if (!workload && queued.seen.queue.api == QueueView::Api::kServed) verdict.gang.clear_workload();
  verdict.gang.clear_admitted();
  verdict.conditions = {remove_condition(conditions::kQuotaReserved)};
  return verdict;
}

// What the queue gave for the pods that still end is given to none that are made after them.
QueueVerdict leave(const QueueCase& queued, QueueVerdict verdict, Course course) {
  verdict.gang.clear_admitted();
  const auto& workload = queued.seen.queue.workload;
  if (!workload && queued.seen.queue.api == QueueView::Api::kServed) verdict.gang.clear_workload();
  if (workload && !workload->being_deleted && !holds_machines(queued.seen.pods, queued.now))
    verdict.effects.emplace_back(deletion_of(*workload));
  verdict.look_again = until_gone(queued.seen.pods, queued.now);
  return say(std::move(verdict), course, false, conditions::kSuspended,
             "the job is suspended, and waits in no queue meanwhile");
}

QueueVerdict suspend_deleted(const QueueCase& queued, QueueVerdict verdict) {
  verdict.gang.clear_workload();
  verdict.gang.clear_admitted();
  return say(std::move(verdict), Course::kStops, false, reasons::kWorkloadDeleted,
             fmt::format("somebody has deleted workload {}, and with it the job's place and quota; set "
                         "spec.suspend to true and then to false to queue the job anew",
                         workload_name(queued.seen.job)));
}

QueueVerdict stop_finished(QueueVerdict verdict, const WorkloadView& workload) {
  return stop(std::move(verdict),
              "the queue has ended the job's Workload: " + workload.message_of(workload::kFinished) +
                  "; set spec.suspend to true and then to false to queue the job anew");
}

QueueVerdict give_back(const QueueCase& queued, QueueVerdict verdict, const WorkloadView& workload) {
  verdict.look_again = until_gone(queued.seen.pods, queued.now);
  if (!holds_machines(queued.seen.pods, queued.now))
    verdict.effects.emplace_back(MergeStatus{kWorkloads, workload.name, release_patch(workload, queued.now)});
  return stop(std::move(verdict),
              "the queue takes back what it had given: " + workload.message_of(workload::kEvicted));
}

QueueVerdict queue_anew(const QueueCase& queued, QueueVerdict verdict, const WorkloadView& workload,
                        const std::string& why) {
  const bool is_empty = !holds_machines(queued.seen.pods, queued.now);
  const bool must_stop =
      verdict.gang.admitted() || !is_empty || is_suspended_by_queue(queued.seen.job.status);
  verdict.gang.clear_admitted();
  verdict.look_again = until_gone(queued.seen.pods, queued.now);
  if (is_empty) {                   // behind the pods
    verdict.gang.clear_workload();  // it is not somebody else who deletes it
    verdict.effects.emplace_back(deletion_of(workload));
  }
  std::string message = fmt::format("workload {} is made anew: {}", workload.name, why);
  if (must_stop) return stop(std::move(verdict), std::move(message));
  return keep_waiting(queued, std::move(verdict), false, reasons::kPending, std::move(message));
}

}  // namespace caravan::controller
