#include "operator/controller/decide.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "operator/api/cancellation.h"
#include "operator/api/conditions.h"
#include "operator/api/job_queue.h"
#include "operator/api/names.h"
#include "operator/children/pod_group.h"
#include "operator/controller/children_policy.h"
#include "operator/controller/domain_policy.h"
#include "operator/controller/end_policy.h"
#include "operator/controller/failure_policy.h"
#include "operator/controller/gang_policy.h"
#include "operator/controller/lifetime_policy.h"
#include "operator/controller/memory_policy.h"
#include "operator/controller/placement_policy.h"
#include "operator/controller/planning_policy.h"
#include "operator/controller/progress_policy.h"
#include "operator/controller/queue_policy.h"
#include "operator/controller/restart_count.h"
#include "operator/controller/story.h"
#include "operator/view/plan_status.h"
#include "operator/view/progress_status.h"

namespace caravan::controller {
namespace {

using namespace std::chrono_literals;

// Agents of a job that is complete end by themselves.
constexpr auto kFarewell = 60s;
// In the domains of the topology, by other jobs that end and nodes that come.
constexpr std::chrono::milliseconds kRoomMayCome = 30s;

class Decider {
 public:
  Decider(const Snapshot& snapshot, const Settings& settings, TimePoint now)
      : seen_(snapshot),
        job_(snapshot.job),
        settings_(settings),
        now_(now),
        conditions_(job_.status, job_.generation, now) {}

  Decision decide() {
    advance();
    if (!is_left_alone()) {
      status().set_observed_generation(job_.generation);
      status().set_state(state_of(status()));
    }
    decision_.notes = story_of(seen_.job.status, status());
    decision_.status = status();
    return std::move(decision_);
  }

 private:
  v1alpha1::JobStatus& status() { return job_.status; }
  void look_again(LookAgain when) { decision_.look_again = sooner(decision_.look_again, when); }

  bool is_left_alone() const {
    const std::string& manager = job_.spec.managed_by();
    return job_.being_deleted || !(manager.empty() || manager == kController);
  }

  // The policies, in order; each may be the last one.
  void advance() {
    if (is_left_alone()) return offer_to_other_clusters();
    if (is_finished(status())) return tidy_up();
    announce_steps(job_.spec, status());
    const bool planned = plan();
    if (seen_.progress) {
      follow_saves(*seen_.progress, job_.generation, now_, status());
      follow_request(job_, *seen_.progress, status());
    }
    if (is_finished(status()) || end_by_result() || cancel()) return;
    if (planned && ask_queue()) return;
    if (suspend() || carry_out(judge_deadline(job_.spec, status(), now_)) || !planned || wait_for_queue())
      return;
    if (restart_as_told() || give_machines_back() || replace_losses()) return;
    make_children();
    show_pods();
    show_steps(false);
  }

  // MultiKueue sends the job to a cluster that has room for it, and brings back how it gets on there: here it
  // needs a Workload and nothing else.
  void offer_to_other_clusters() {
    const bool is_wanted = job_.spec.managed_by() == kMultiKueue && !job_.being_deleted &&
                           !job_.spec.suspend() && !is_finished(status()) && !queue_of(job_).empty();
    if (!is_wanted || seen_.queue.api != QueueView::Api::kServed || seen_.queue.workload) return;
    const PlanVerdict verdict = judge_plan(job_, seen_.nodes);
    if (!verdict.plan) return;
    decision_.effects.emplace_back(
        CreateChild{kWorkloads, workload_intent(job_, *verdict.plan, seen_.queue.priority, settings_)});
  }

  bool plan() {
    const PlanVerdict verdict = judge_plan(job_, seen_.nodes);
    if (verdict.plan) {
      take(verdict);
      return true;
    }
    conditions_.set(conditions::kPlanned, false, verdict.reason, verdict.message);
    if (verdict.final) fail(verdict.reason, verdict.message);
    return false;
  }

  // Without a field it is left out: an API server makes null of an applied message whose last field goes, and
  // then refuses the whole status.
  void remember(const v1alpha1::GangStatus& gang) {
    if (gang.ByteSizeLong() == 0) return status().clear_gang();
    *status().mutable_gang() = gang;
  }

  // True: the job is over.
  bool ask_queue() {
    queue_ = judge_queue(seen_, decision_.plan, settings_, now_);
    look_again(queue_.look_again);
    std::ranges::move(queue_.effects, std::back_inserter(decision_.effects));
    decision_.placement = std::move(queue_.placement);
    const bool is_queued = queue_.course != QueueVerdict::Course::kNotQueued;
    if (is_queued || status().has_gang()) remember(queue_.gang);
    if (!is_queued) {
      conditions_.remove(conditions::kQuotaReserved);
      return false;
    }
    if (!queue_.reason.empty())
      conditions_.set(conditions::kQuotaReserved, queue_.reserved, queue_.reason, queue_.message);
    if (queue_.course != QueueVerdict::Course::kFails) return false;
    return fail(queue_.reason, queue_.message);
  }

  // True: nothing is made before the queue says so.
  bool wait_for_queue() {
    if (queue_.course == QueueVerdict::Course::kHolds) return true;
    if (queue_.course != QueueVerdict::Course::kWaits) return false;
    if (!queue_.message.empty())
      conditions_.set(conditions::kScheduled, false, reasons::kWaitingForQuota,
                      "no pod is made before the queue admits the job: " + queue_.message +
                          (seen_.trouble.empty() ? "" : "; " + seen_.trouble));
    return true;
  }

  bool is_suspended_by_queue() const {
    const v1alpha1::Condition* suspended = find_condition(job_.status, conditions::kSuspended);
    return suspended != nullptr && suspended->status() == "True" && suspended->reason() == reasons::kByQueue;
  }

  // What the queue has taken back it gives again, and until then the job stays suspended.
  bool queue_suspends() const {
    if (queue_.course == QueueVerdict::Course::kStops) return true;
    return is_suspended_by_queue() && queue_.course != QueueVerdict::Course::kRuns &&
           gang_provider(job_) == v1alpha1::Gang::Kueue;
  }

  void show_suspension() {
    if (job_.spec.suspend()) {
      conditions_.set(conditions::kSuspended, true, reasons::kByUser,
                      "spec.suspend is true; set it to false to go on");
    } else if (!queue_.message.empty()) {
      conditions_.set(conditions::kSuspended, true, reasons::kByQueue, queue_.message);
    }
  }

  void take(const PlanVerdict& verdict) {
    conditions_.set(conditions::kPlanned, true, verdict.reason, verdict.message);
    decision_.plan = *verdict.plan;
    show_plan(decision_.plan.plan(), status());
    status().mutable_plan()->set_document(verdict.document);
  }

  bool suspend() {
    const bool by_user = job_.spec.suspend();
    switch (judge_suspension(by_user || queue_suspends(), status())) {
      case Suspension::kNone:
        return false;
      case Suspension::kResume:
        conditions_.set(conditions::kSuspended, false, reasons::kResumed,
                        is_suspended_by_queue() ? "the queue has admitted the job" : "spec.suspend is false");
        if (status().attempt() > 0) status().set_attempt(status().attempt() + 1);
        return false;
      case Suspension::kSuspend:
        show_suspension();
        for (const char* type : {conditions::kScheduled, conditions::kRunning, conditions::kStalled,
                                 conditions::kStraggling, conditions::kRestarting})
          conditions_.clear(type, conditions::kSuspended, "the job is suspended");
        status().clear_start_time();
        status().clear_short_attempts();
        if (status().has_gang()) status().mutable_gang()->clear_waits_until();
        show_steps(true);
        break;
      case Suspension::kStay:
        show_suspension();
        show_steps(seen_.pods.empty());  // then nothing follows what they saved on their way
        break;
    }
    end_pods();
    return true;
  }

  bool end_by_result() {
    EndVerdict end = judge_end(facts_of(job_), seen_.progress, seen_.pods, now_);
    last_step_ = std::move(end.last_step);
    if (end.restarts > status().restarts()) status().set_restarts(end.restarts);
    return carry_out(end.verdict);
  }

  // The pods go first, as in a suspension, so that what they save on their way is told of.
  bool cancel() {
    if (!is_cancelled(job_)) return false;
    if (seen_.pods.empty())
      return fail(kCancelledReason, "cancelled by its user; a new job may go on from its last checkpoint");
    show_steps(false);
    end_pods();
    return true;
  }

  bool restart_as_told() {
    if (!seen_.progress) return false;
    const auto correction = wanted_correction(status(), *seen_.progress);
    if (const auto& event = seen_.progress->event) {
      count_told_restarts(job_.spec.failure_policy(), *seen_.progress, seen_.pods, event->attempt(), now_,
                          status());
      const Verdict verdict = judge_report(job_.spec, status(), *seen_.progress, seen_.pods, now_);
      if (carry_out(verdict)) return true;
      if (verdict.reason == reasons::kStalled)
        conditions_.set(conditions::kStalled, true, reasons::kNoStepWithinTimeout, event->message());
    }
    follow_attempts(job_.spec, *seen_.progress, seen_.pods, job_.generation, now_, status());
    if (correction) plan_again(*correction);
    if (auto request = wanted_checkpoint(job_, status()))
      decision_.effects.emplace_back(AskForCheckpoint{*std::move(request)});
    return false;
  }

  // True: the gang lets go of its machines, and asks again later.
  bool give_machines_back() {
    const GangVerdict gang = judge_gang(seen_, status(), decision_.plan.nodes(), now_);
    look_again(gang.look_again);
    if (status().has_gang() || gang.course == GangVerdict::Course::kGivesBack) remember(gang.gang);
    if (gang.course == GangVerdict::Course::kGoesOn) return false;
    if (gang.course == GangVerdict::Course::kGivesBack) {
      conditions_.set(conditions::kScheduled, false, reasons::kGangTimeout, gang.message);
      conditions_.clear(conditions::kRunning, reasons::kGangTimeout, "the gang has given its machines back");
      status().set_attempt(status().attempt() + 1);
    }
    end_pods();
    show_steps(false);
    return true;
  }

  // Behind what the attempts that were told of have cost.
  void plan_again(const v1alpha1::MemoryCorrection& correction) {
    const ShortageVerdict verdict = judge_shortage(job_, decision_.plan, correction);
    if (verdict.plan.plan) take(verdict.plan);
    *status().mutable_memory_correction() = verdict.correction;
    const auto& event = seen_.progress->event;
    const bool restarts = event && event->attempt() == correction.attempt();
    if (!verdict.plan.plan && !restarts) return;
    show_restart(reasons::kRankFailed,
                 restarts ? fmt::format("{}; {}", verdict.message, event->message()) : verdict.message);
  }

  bool replace_losses() {
    const Verdict verdict = judge_losses(job_.spec, status(), seen_.pods, decision_.plan.nodes(), now_);
    waits_for_result_ = verdict.course == Verdict::Course::kGoesOn && verdict.result_may_follow;
    return carry_out(verdict);
  }

  // True: the job is over.
  bool carry_out(const Verdict& verdict) {
    look_again(verdict.look_again);
    if (verdict.course == Verdict::Course::kGoesOn) return false;
    show_steps(true);
    if (verdict.course == Verdict::Course::kRestarts) {
      count_restart(job_.spec.failure_policy(), verdict, now_, status());
      show_restart(verdict.reason, verdict.message);
      return false;
    }
    const bool completes = verdict.course == Verdict::Course::kCompletes;
    conditions_.set(completes ? conditions::kComplete : conditions::kFailed, true, verdict.reason,
                    verdict.message);
    finish(verdict.reason);
    return true;
  }

  bool fail(const std::string& reason, const std::string& message) {
    return carry_out({.course = Verdict::Course::kFails, .reason = reason, .message = message});
  }

  void show_restart(const std::string& reason, const std::string& message) {
    conditions_.set(conditions::kRestarting, true, reason, message);
    conditions_.clear(conditions::kRunning, reasons::kRendezvous, "the gang is being started again");
  }

  void make_children() {
    if (status().attempt() == 0) status().set_attempt(1);
    if (!status().has_restarts()) status().set_restarts(0);
    if (status().start_time().empty()) status().set_start_time(to_text(now_));
    if (waits_for_result_) return;
    if (!choose_domains()) return;
    ChildrenVerdict verdict = judge_children(job_, seen_, decision_.plan, settings_, now_);
    std::ranges::move(verdict.effects, std::back_inserter(decision_.effects));
    decision_.new_certificates = verdict.new_certificates;
    decision_.plan_fingerprint = std::move(verdict.plan_fingerprint);
    look_again(verdict.look_again);
  }

  // False: there is none that the pods could be made for.
  bool choose_domains() {
    domains_ = judge_domains(seen_, decision_.plan, settings_);
    if (!domains_.message.empty()) look_again(kRoomMayCome);
    if (queue_.course == QueueVerdict::Course::kNotQueued) decision_.placement = domains_.placement;
    const auto provider = gang_provider(job_);
    if (provider == v1alpha1::Gang::Volcano || provider == v1alpha1::Gang::Coscheduling)
      join_pod_group(job_, decision_.placement);
    return !domains_.no_domain;
  }

  void show_pods() {
    const PlacementVerdict pods = judge_placement(seen_, status(), decision_.plan, domains_, settings_, now_);
    look_again(pods.look_again);
    conditions_.set(conditions::kScheduled, pods.all_bound, pods.reason, pods.message);
    if (pods.all_bound && !is_true(status(), conditions::kRunning))
      conditions_.set(conditions::kRunning, false, reasons::kRendezvous,
                      pods.trouble.empty() ? "the agents meet" : pods.trouble);
  }

  void show_steps(bool urgent) {
    if (!seen_.progress && !last_step_) return;
    JobProgress progress = seen_.progress.value_or(JobProgress{});
    if (last_step_) progress.step = last_step_;
    look_again(show_progress(job_.spec, progress, urgent, now_, status()));
  }

  void finish(const std::string& reason) {
    for (const char* type : {conditions::kSuspended, conditions::kQuotaReserved, conditions::kRunning,
                             conditions::kStalled, conditions::kStraggling, conditions::kRestarting})
      conditions_.clear(type, reason, "the job is over");
    status().set_completion_time(to_text(now_));
    tidy_up();
  }

  // Of a finished job: pods that still live, and the job itself when its time is over.
  void tidy_up() {
    const TtlVerdict ttl = judge_ttl(job_.spec, status(), now_);
    look_again(ttl.look_again);
    if (ttl.expired) {
      decision_.effects.emplace_back(DeleteJob{});
      return;
    }
    const TimePoint farewell = to_time(status().completion_time()).value_or(now_) + kFarewell;
    std::ranges::move(leave_queue(seen_, status(), now_), std::back_inserter(decision_.effects));
    if (!is_true(status(), conditions::kFailed) && now_ < farewell) {
      look_again(until(farewell, now_));
      return;
    }
    delete_pods([](const PodView& pod) { return pod.alive(); });
  }

  void end_pods() {
    delete_pods([](const PodView& pod) { return !pod.gone_by; });
  }

  template <typename Which>
  void delete_pods(Which which) {
    for (const PodView& pod : seen_.pods) {
      if (which(pod)) decision_.effects.emplace_back(DeletePod{pod.name, pod.uid});
    }
  }

  const Snapshot& seen_;
  Job job_;  // its status becomes the new one
  const Settings& settings_;
  TimePoint now_;
  Conditions conditions_;
  Decision decision_;
  std::optional<v1alpha1::JobStep> last_step_;  // as the last words of a pod tell of it
  bool waits_for_result_ = false;
  QueueVerdict queue_;
  DomainVerdict domains_;
};

}  // namespace

Decision decide(const Snapshot& snapshot, const Settings& settings, TimePoint now) {
  return Decider(snapshot, settings, now).decide();
}

}  // namespace caravan::controller
