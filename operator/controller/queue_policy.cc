#include "operator/controller/queue_policy.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "operator/api/conditions.h"
#include "operator/api/job_queue.h"
#include "operator/api/names.h"
#include "operator/controller/pod_loss.h"
#include "operator/controller/pods_policy.h"
#include "operator/controller/queue_change.h"
#include "operator/controller/queue_grant.h"
#include "operator/controller/queue_hindrance.h"
#include "operator/controller/queue_notice.h"
#include "operator/controller/queue_place.h"

namespace caravan::controller {
namespace {

using Course = Verdict::Course;
using Api = QueueView::Api;

std::string words_of(const WorkloadView& workload, const char* type) {
  const kube::Json* condition = workload.condition(type);
  return condition == nullptr ? "" : kube::text_at(*condition, {"message"});
}

// Quota alone starts nothing while an admission check is not ready.
std::string words_of_check(const WorkloadView& workload) {
  return workload.check_waited_for.empty() ? "" : "; " + workload.check_waited_for;
}

class Judge {
 public:
  Judge(const Snapshot& seen, const v1alpha1::JobPlan& plan, const Settings& settings, TimePoint now)
      : seen_(seen), job_(seen.job), plan_(plan), settings_(settings), now_(now) {
    verdict_.gang = job_.status.gang();
  }

  QueueVerdict judge() {
    if (gang_provider(job_) != v1alpha1::Gang::Kueue) return turn_away();
    if (seen_.queue.api != Api::kServed) return without_queue();
    const auto& workload = seen_.queue.workload;
    if (job_.spec.suspend()) return leave(Course::kWaits);
    if (has_left() && workload && !workload->being_deleted) return leave(Course::kStops);
    if (!workload || workload->being_deleted) return without_workload();
    verdict_.gang.set_workload(workload->name);
    if (workload->is_true(workload::kFinished))
      return stop("the queue has ended the job's Workload: " + words_of(*workload, workload::kFinished) +
                  "; set spec.suspend to true and then to false to queue the job anew");
    if (workload->is_true(workload::kEvicted) && workload->is_true(workload::kQuotaReserved))
      return give_back(*workload);
    if (const std::string why = outdated_by(seen_, *workload, plan_); !why.empty())
      return queue_anew(*workload, why);
    const bool may_start =
        workload->is_true(workload::kAdmitted) && !workload->is_true(workload::kEvicted) && workload->active;
    return may_start ? run(*workload) : wait(*workload);
  }

 private:
  QueueVerdict say(Course course, bool reserved, std::string reason, std::string message) {
    if (!reason.empty())
      verdict_.conditions.push_back(set_condition(conditions::kQuotaReserved, reserved, reason, message));
    verdict_.course = course;
    verdict_.reason = std::move(reason);
    verdict_.message = std::move(message);
    return std::move(verdict_);
  }

  // The condition Scheduled says so too, but for a job whose pods may run, and one that is suspended.
  QueueVerdict keep_waiting(bool reserved, std::string reason, std::string message) {
    const bool is_suspended = job_.spec.suspend() || is_suspended_by_queue(job_.status);
    const bool says_so = !verdict_.gang.admitted() && !is_suspended && !message.empty();
    verdict_.makes_no_pods = verdict_.gang.admitted();
    const Course course = verdict_.makes_no_pods ? Course::kGoesOn : Course::kWaits;
    QueueVerdict verdict = say(course, reserved, std::move(reason), std::move(message));
    if (says_so)
      verdict.conditions.push_back(
          set_condition(conditions::kScheduled, false, reasons::kWaitingForQuota,
                        "no pod is made before the queue admits the job: " + verdict.message +
                            (seen_.trouble.empty() ? "" : "; " + seen_.trouble)));
    return verdict;
  }

  // Nobody knows what the job has there. One that has left gets nothing back unseen: its Workload may be
  // there still, for other pods than it wants now.
  QueueVerdict without_queue() {
    if (was_deleted()) return say_deleted();
    const auto [reason, message] = hindrance_of_cluster(seen_.queue).value_or(QueueHindrance{});
    const bool stays_away = has_left() && !job_.spec.suspend();
    if (stays_away) return say(Course::kStops, false, reason, message);
    // Who does not answer has taken nothing back.
    const bool keeps_quota = seen_.queue.api == Api::kUnknown && verdict_.gang.admitted();
    return keep_waiting(false, keeps_quota ? "" : reason, message);
  }

  QueueVerdict stop(std::string message) {
    verdict_.gang.clear_admitted();
    return say(Course::kStops, false, reasons::kPending, std::move(message));
  }

  // The job asked for a queue once, and does so no longer. Pods that end may still use what it gave.
  QueueVerdict turn_away() {
    const auto& workload = seen_.queue.workload;
    const bool still_end = std::ranges::any_of(seen_.pods, [this](const PodView& pod) {
      return (job_.spec.suspend() || pod.gone_by) && pod.holds_machine(now_);
    });
    if (still_end) verdict_.look_again = until_gone(seen_.pods, now_);
    if (workload && !workload->being_deleted && !still_end)
      verdict_.effects.emplace_back(DeleteChild{kWorkloads, workload->name, workload->uid});
    if (!workload && seen_.queue.api == Api::kServed) verdict_.gang.clear_workload();
    verdict_.gang.clear_admitted();
    verdict_.conditions = {remove_condition(conditions::kQuotaReserved)};
    return std::move(verdict_);
  }

  // Its user had suspended the job when it was last looked at.
  bool has_left() const {
    return is_true(job_.status, conditions::kSuspended) && !is_suspended_by_queue(job_.status);
  }

  // The user suspends the job: it waits in no queue meanwhile, and may ask for something else afterwards.
  // What the queue gave for the pods that still end is given to none that are made after them.
  QueueVerdict leave(Course course) {
    verdict_.gang.clear_admitted();
    const auto& workload = seen_.queue.workload;
    if (!workload && seen_.queue.api == Api::kServed) verdict_.gang.clear_workload();
    if (workload && !workload->being_deleted && !holds_machines(seen_.pods, now_))
      verdict_.effects.emplace_back(DeleteChild{kWorkloads, workload->name, workload->uid});
    verdict_.look_again = until_gone(seen_.pods, now_);
    return say(course, false, conditions::kSuspended,
               "the job is suspended, and waits in no queue meanwhile");
  }

  // Its Workload, by somebody, and the job was told so.
  bool was_deleted() const {
    const v1alpha1::Condition* quota = find_condition(job_.status, conditions::kQuotaReserved);
    return quota != nullptr && quota->reason() == reasons::kWorkloadDeleted &&
           is_suspended_by_queue(job_.status);
  }

  QueueVerdict say_deleted() {
    verdict_.gang.clear_workload();
    verdict_.gang.clear_admitted();
    return say(Course::kStops, false, reasons::kWorkloadDeleted,
               fmt::format("somebody has deleted workload {}, and with it the job's place and quota; set "
                           "spec.suspend to true and then to false to queue the job anew",
                           workload_name(job_)));
  }

  QueueVerdict without_workload() {
    if (has_left()) verdict_.gang.clear_workload();
    const bool is_known = !verdict_.gang.workload().empty();
    if (is_known || was_deleted()) return say_deleted();
    if (const auto hindrance = hindrance_of_job(job_, seen_.queue))
      return keep_waiting(false, hindrance->reason, hindrance->message);
    // One that is being deleted is waited for.
    if (!seen_.queue.workload)
      verdict_.effects.emplace_back(
          CreateChild{kWorkloads, workload_intent(job_, plan_, seen_.queue.priority, settings_)});
    return keep_waiting(
        false, reasons::kPending,
        fmt::format("workload {} is handed to queue {}", workload_name(job_), queue_of(job_)));
  }

  // Another Workload takes the place of one that asks for something else than the job does now, behind the
  // pods.
  QueueVerdict queue_anew(const WorkloadView& workload, const std::string& why) {
    const bool is_empty = !holds_machines(seen_.pods, now_);
    const bool must_stop = verdict_.gang.admitted() || !is_empty || is_suspended_by_queue(job_.status);
    verdict_.gang.clear_admitted();
    verdict_.look_again = until_gone(seen_.pods, now_);
    if (is_empty) {
      verdict_.gang.clear_workload();  // it is not somebody else who deletes it
      verdict_.effects.emplace_back(DeleteChild{kWorkloads, workload.name, workload.uid});
    }
    std::string message = fmt::format("workload {} is made anew: {}", workload.name, why);
    if (must_stop) return say(Course::kStops, false, reasons::kPending, std::move(message));
    return keep_waiting(false, reasons::kPending, std::move(message));
  }

  QueueVerdict give_back(const WorkloadView& workload) {
    verdict_.look_again = until_gone(seen_.pods, now_);
    if (!holds_machines(seen_.pods, now_))
      verdict_.effects.emplace_back(MergeStatus{kWorkloads, workload.name, release_patch(workload, now_)});
    return stop("the queue takes back what it had given: " + words_of(workload, workload::kEvicted));
  }

  QueueVerdict run(const WorkloadView& workload) {
    QueueGrant grant = grant_of(seen_, workload, plan_);
    if (!grant.conflict.empty() && verdict_.gang.admitted())  // somebody has changed a flavor
      return keep_waiting(true, reasons::kQuotaReserved,
                          "no pod is made while what the queue gave cannot be used: " + grant.conflict);
    if (!grant.conflict.empty())
      return say(Course::kFails, true, reasons::kInvalidSpec,
                 "what the queue gave cannot be used: " + grant.conflict);
    if (!grant.unknown_flavor.empty())
      return keep_waiting(
          true, reasons::kQuotaReserved,
          fmt::format("resourceflavor {}, which the queue gave, is not known yet", grant.unknown_flavor));
    verdict_.placement = std::move(grant.placement);
    // The first one before any pod is made: it is refused where the queue has changed its mind meanwhile.
    const bool is_first = workload.condition(workload::kPodsReady) == nullptr;
    (is_first ? verdict_.effects : verdict_.notices) = tell_of_pods(seen_, workload, plan_.nodes(), now_);
    std::ranges::move(deletion_of_strays(seen_.pods, verdict_.placement),
                      std::back_inserter(verdict_.effects));
    verdict_.gang.set_admitted(true);
    return say(Course::kGoesOn, true, reasons::kQuotaReserved, words_of(workload, workload::kAdmitted));
  }

  QueueVerdict wait(const WorkloadView& workload) {
    const kube::Json* quota = workload.condition(workload::kQuotaReserved);
    std::string message = quota == nullptr
                              ? fmt::format("workload {} waits in queue {}", workload.name, workload.queue)
                              : kube::text_at(*quota, {"message"});
    if (!workload.active)
      message = fmt::format("workload {} is deactivated and waits for spec.active to become true: {}",
                            workload.name, words_of(workload, workload::kEvicted));
    const bool must_stop =
        verdict_.gang.admitted() || holds_machines(seen_.pods, now_) || is_suspended_by_queue(job_.status);
    verdict_.gang.clear_admitted();
    verdict_.look_again = when_places_change(seen_.queue);
    const bool reserved = workload.is_true(workload::kQuotaReserved);
    std::string reason = quota == nullptr ? reasons::kPending : kube::text_at(*quota, {"reason"});
    if (reserved || !workload.active) message += words_of_check(workload);
    if (!reserved) message += place_in_queue(seen_.queue);
    if (must_stop) return say(Course::kStops, reserved, std::move(reason), std::move(message));
    return keep_waiting(reserved, std::move(reason), std::move(message));
  }

  const Snapshot& seen_;
  const Job& job_;
  const v1alpha1::JobPlan& plan_;
  const Settings& settings_;
  TimePoint now_;
  QueueVerdict verdict_;
};

}  // namespace

QueueVerdict judge_queue(const Snapshot& snapshot, const v1alpha1::JobPlan& plan, const Settings& settings,
                         TimePoint now) {
  return Judge(snapshot, plan, settings, now).judge();
}

}  // namespace caravan::controller
