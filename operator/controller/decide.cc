#include "operator/controller/decide.h"

#include <algorithm>
#include <iterator>

#include "operator/api/cancellation.h"
#include "operator/api/conditions.h"
#include "operator/api/job_queue.h"
#include "operator/api/names.h"
#include "operator/children/pod_group.h"
#include "operator/children/worker_pod.h"
#include "operator/controller/children_policy.h"
#include "operator/controller/domain_policy.h"
#include "operator/controller/end_policy.h"
#include "operator/controller/failure_policy.h"
#include "operator/controller/gang_policy.h"
#include "operator/controller/lifetime_policy.h"
#include "operator/controller/machine_policy.h"
#include "operator/controller/memory_policy.h"
#include "operator/controller/placement_policy.h"
#include "operator/controller/plan_record.h"
#include "operator/controller/planning_policy.h"
#include "operator/controller/progress_policy.h"
#include "operator/controller/queue_policy.h"
#include "operator/controller/restart_count.h"
#include "operator/controller/story.h"
#include "operator/controller/suspension_policy.h"
#include "operator/controller/told_failure.h"
#include "operator/controller/unseen_suspension.h"
#include "operator/service/job_progress.h"
#include "operator/view/plan_status.h"
#include "operator/view/progress_status.h"

namespace caravan::controller {
namespace {

using Course = Verdict::Course;

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
    if (queue_) std::ranges::move(queue_->notices, std::back_inserter(decision_.effects));
    if (!is_left_alone(job_)) {
      status().set_observed_generation(job_.generation);
      if (!is_finished(status()) && forgets_former_wishes(job_, seen_.pods))
        status().set_asked_for(fingerprint_of_wishes(job_));
      status().set_state(state_of(status()));
    }
    decision_.notes = story_of(seen_.job.status, status());
    decision_.status = status();
    return std::move(decision_);
  }

 private:
  v1alpha1::JobStatus& status() { return job_.status; }

  // The policies, in order; each may be the last one.
  void advance() {
    if (is_left_alone(job_)) return offer_to_other_clusters();
    if (is_finished(status())) return take(judge_finished(seen_, status(), now_));
    announce_steps(job_.spec, status());
    const bool planned = plan();
    follow_requests();
    if (is_finished(status()) || end_by_result() || carry_out(judge_cancellation(job_, seen_.pods, now_)))
      return;
    if (planned && ask_queue()) return;
    if (carry_out(judge_suspension(job_.spec, queue_, told_attempt(), status())) ||
        carry_out(judge_deadline(job_.spec, status(), now_)) || !queue_ || queue_->course == Course::kWaits)
      return;
    if (restart_as_told() || give_machines_back()) return;
    if (!queue_->makes_no_pods) {
      replace_absent();
      if (replace_losses()) return;
    }
    make_children();
    const std::string why_no_pods = queue_->makes_no_pods ? queue_->message : "";
    take(judge_placement(seen_, status(), decision_.plan, domains_, why_no_pods, settings_, now_));
    show_steps();
  }

  // What every verdict asks for, whatever the course.
  void take(Verdict verdict) {
    decision_.look_again = sooner(decision_.look_again, verdict.look_again);
    for (const ConditionChange& change : verdict.conditions) conditions_.write(change);
    std::ranges::move(verdict.effects, std::back_inserter(decision_.effects));
  }

  // True: no policy comes after it.
  bool carry_out(Verdict verdict) {
    if (verdict.course == Course::kRestarts) announce_restart(verdict.reason, verdict);
    take(verdict);
    switch (verdict.course) {
      case Course::kGoesOn:
        return false;
      case Course::kWaits:
        return true;
      case Course::kStops:
        delete_pods();
        break;
      case Course::kRestarts:
        break;
      case Course::kCompletes:
      case Course::kFails:
        finish(verdict);
        break;
    }
    show_steps();
    return verdict.course != Course::kRestarts;
  }

  void finish(const Verdict& verdict) {
    conditions_.set(verdict.course == Course::kCompletes ? conditions::kComplete : conditions::kFailed, true,
                    verdict.reason, verdict.message);
    const auto clear = [&](const char* type) { conditions_.clear(type, verdict.reason, "the job is over"); };
    clear(conditions::kSuspended);
    clear(conditions::kQuotaReserved);
    std::ranges::for_each(conditions::kOfPods, clear);
    status().set_completion_time(to_text(now_));
    take(judge_finished(seen_, status(), now_));
  }

  void delete_pods() {
    for (const PodView& pod : seen_.pods) {
      if (!pod.gone_by) decision_.effects.emplace_back(DeletePod{pod.name, pod.uid});
    }
  }

  // MultiKueue sends the job to a cluster that has room for it, and brings back how it gets on there: here it
  // needs a Workload and nothing else. With that goes what runs elsewhere.
  void offer_to_other_clusters() {
    if (job_.spec.managed_by() != kMultiKueue || job_.being_deleted) return;
    if (is_finished(status())) return take(judge_time_to_live(job_.spec, status(), now_));
    const bool is_wanted = !job_.spec.suspend() && !is_cancelled(job_) && !queue_of(job_).empty();
    const auto& workload = seen_.queue.workload;
    if (workload && !is_wanted)
      decision_.effects.emplace_back(DeleteChild{kWorkloads, workload->name, workload->uid});
    if (!is_wanted || seen_.queue.api != QueueView::Api::kServed || workload) return;
    const PlanVerdict verdict = judge_plan(job_, *seen_.nodes);
    if (!verdict.plan) return;
    decision_.effects.emplace_back(
        CreateChild{kWorkloads, workload_intent(job_, *verdict.plan, seen_.queue.priority, settings_)});
  }

  // False: there is none.
  bool plan() {
    if (is_planned_anew(job_)) status().clear_plan();
    const PlanVerdict verdict = judge_plan(job_, *seen_.nodes);
    if (verdict.plan) remember_plan(verdict);
    carry_out(verdict);
    return verdict.plan.has_value();
  }

  void remember_plan(const PlanVerdict& verdict) {
    decision_.plan = *verdict.plan;
    show_plan(decision_.plan.plan(), status());
    status().mutable_plan()->set_document(verdict.document);
  }

  // Without a field it is left out: an API server makes null of an applied message whose last field goes, and
  // then refuses the whole status.
  void remember_gang(const v1alpha1::GangStatus& gang) {
    if (gang.ByteSizeLong() == 0) return status().clear_gang();
    *status().mutable_gang() = gang;
  }

  void follow_requests() {
    if (!seen_.progress) return;
    follow_saves(*seen_.progress, job_.generation, now_, status());
    follow_request(job_, *seen_.progress, status());
  }

  bool end_by_result() {
    EndVerdict end = judge_end(facts_of(job_), seen_.progress, seen_.pods, now_);
    hear_last_words(end);
    if (end.restarts > status().restarts()) status().set_restarts(end.restarts);
    return carry_out(std::move(end));
  }

  // As if they had been reported. Of a checkpoint that the status shows they tell nothing: one may have
  // failed since.
  void hear_last_words(const EndVerdict& end) {
    const auto& saved = end.last_checkpoint;
    const bool is_new = saved && saved->report().step() != status().last_checkpoint().step();
    if (!end.last_step && !is_new) return;
    last_words_ = seen_.progress.value_or(JobProgress{});
    if (end.last_step) last_words_->step = end.last_step;
    if (!is_new) return;
    v1alpha1::JobReport report;
    *report.mutable_checkpoint() = *saved;
    add_report(report, now_, *last_words_);
    follow_saves(*last_words_, job_.generation, now_, status());
  }

  // True: the job is over. That it waits or stops comes behind what its user says of suspension.
  bool ask_queue() {
    queue_ = judge_queue({seen_, decision_.plan, settings_, now_});
    remember_gang(queue_->gang);
    decision_.placement = queue_->placement;
    if (queue_->course == Course::kFails) return carry_out(*queue_);
    take(*queue_);
    return false;
  }

  // True: no policy comes after it.
  bool restart_as_told() {
    if (!seen_.progress) return false;
    const auto correction = wanted_correction(status(), *seen_.progress);
    FailureVerdict told;
    if (const auto& event = seen_.progress->event) {
      count_told_restarts(job_.spec.failure_policy(), *seen_.progress, seen_.pods, event->attempt(), now_,
                          status());
      told = judge_report(job_.spec, status(), *seen_.progress, seen_.pods, now_, settings_.agent_patience);
      if (restart(told)) return true;
    }
    const bool is_followed =
        told.course == Course::kRestarts && seen_.progress->attempt >= status().attempt();
    if (!is_followed)
      follow_attempts(job_.spec, *seen_.progress, seen_.pods, job_.generation, now_, status());
    if (correction) plan_again(*correction, told);
    // The restart is told before the attempt that follows it, whose pods stay as they are.
    if (is_followed) return look_again_at_once();
    if (auto request = wanted_checkpoint(job_, status()))
      decision_.effects.emplace_back(AskForCheckpoint{*std::move(request)});
    return false;
  }

  bool look_again_at_once() {
    decision_.look_again = sooner(decision_.look_again, kSoonest);
    return true;
  }

  int told_attempt() const { return seen_.progress ? seen_.progress->attempt : 0; }

  // True: the job is over.
  bool restart(const FailureVerdict& verdict) {
    if (verdict.course == Course::kRestarts)
      count_restart(job_.spec.failure_policy(), verdict, now_, status());
    return carry_out(verdict);
  }

  // Behind what the attempts that were told of have cost.
  void plan_again(const v1alpha1::MemoryCorrection& correction, const FailureVerdict& told) {
    const ShortageVerdict verdict = judge_shortage(job_, decision_.plan, correction, told);
    if (verdict.plan) remember_plan(verdict);
    *status().mutable_memory_correction() = verdict.correction;
    take(verdict);
  }

  // True: the gang lets go of its machines, and asks again later.
  bool give_machines_back() {
    GangVerdict gang = judge_gang(seen_, status(), decision_.plan.nodes(), now_);
    remember_gang(gang.gang);
    if (gang.gives_back) status().set_attempt(status().attempt() + 1);
    return carry_out(std::move(gang));
  }

  void replace_absent() {
    const PodView* absent = absent_pod(seen_.progress, seen_.pods);
    if (absent == nullptr) return;
    note_absence(absent->machine, status().attempt(), status());
    decision_.effects.emplace_back(DeletePod{absent->name, absent->uid});
  }

  bool replace_losses() {
    const FailureVerdict verdict =
        judge_losses(job_.spec, status(), seen_.pods, decision_.plan.nodes(), now_, seen_.reported_to_since);
    waits_for_word_ = verdict.course == Course::kGoesOn && verdict.word_may_follow;
    return restart(verdict);
  }

  void make_children() {
    if (status().attempt() == 0) status().set_attempt(1);
    if (!status().has_restarts()) status().set_restarts(0);
    if (status().start_time().empty()) status().set_start_time(to_text(now_));
    choose_image();
    const bool makes_pods = !queue_->makes_no_pods && !waits_for_word_ && choose_domains();
    ChildrenVerdict children = judge_children(job_, seen_, decision_.plan, makes_pods, settings_, now_);
    decision_.new_certificates = children.new_certificates;
    decision_.plan_fingerprint = std::move(children.plan_fingerprint);
    take(std::move(children));
  }

  // A pod that is replaced is of the same version as the others.
  void choose_image() {
    if (!job_.spec.worker().image().empty()) return status().clear_worker_image();
    if (seen_.pods.empty() || status().worker_image().empty())
      status().set_worker_image(usual_image(decision_.plan, settings_));
  }

  // False: there is none that the pods could be made for, or not yet, as a pod that is to leave another may
  // still get its machine there, where the rest of its copy belongs then.
  bool choose_domains() {
    domains_ = judge_domains(seen_, decision_.plan, settings_);
    take(domains_);
    const auto provider = gang_provider(job_);
    if (provider != v1alpha1::Gang::Kueue) decision_.placement = domains_.placement;
    if (provider == v1alpha1::Gang::Volcano || provider == v1alpha1::Gang::Coscheduling)
      join_pod_group(job_, decision_.placement);
    return domains_.course == Course::kGoesOn && domains_.effects.empty();
  }

  // At once with what else users see change, and when no pod is left that could make more.
  void show_steps() {
    const std::optional<JobProgress>& progress = last_words_ ? last_words_ : seen_.progress;
    if (!progress) return;
    const bool urgent = seen_.pods.empty() || has_news();
    decision_.look_again =
        sooner(decision_.look_again, show_progress(job_.spec, *progress, urgent, now_, status()));
  }

  bool has_news() const {
    if (seen_.job.status.attempt() != job_.status.attempt()) return true;
    if (seen_.job.status.checkpoint_request() != job_.status.checkpoint_request()) return true;
    const auto text_of = [](const v1alpha1::Condition& condition) { return condition.SerializeAsString(); };
    return !std::ranges::equal(seen_.job.status.conditions(), job_.status.conditions(), {}, text_of, text_of);
  }

  const Snapshot& seen_;
  Job job_;  // its status becomes the new one
  const Settings& settings_;
  TimePoint now_;
  Conditions conditions_;
  Decision decision_;
  std::optional<JobProgress> last_words_;  // of a pod, with what was reported before
  bool waits_for_word_ = false;            // of a lost pod
  std::optional<QueueVerdict> queue_;      // of a job that has a plan
  DomainVerdict domains_;
};

}  // namespace

Decision decide(const Snapshot& snapshot, const Settings& settings, TimePoint now) {
  if (!missed_suspension(snapshot.job)) return Decider(snapshot, settings, now).decide();
  Snapshot back_then = snapshot;
  back_then.job.spec.set_suspend(true);
  back_then.job.generation = snapshot.job.status.observed_generation();
  Decision decision = Decider(back_then, settings, now).decide();
  decision.look_again = sooner(decision.look_again, kSoonest);
  return decision;
}

}  // namespace caravan::controller
