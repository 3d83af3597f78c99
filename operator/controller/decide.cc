#include "operator/controller/decide.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "operator/api/names.h"
#include "operator/controller/children_policy.h"
#include "operator/controller/conditions.h"
#include "operator/controller/deadline_policy.h"
#include "operator/controller/failure_policy.h"
#include "operator/controller/planning_policy.h"
#include "operator/controller/progress_policy.h"
#include "operator/controller/story.h"
#include "operator/controller/suspension_policy.h"
#include "operator/controller/ttl_policy.h"

namespace caravan::controller {
namespace {

using namespace std::chrono_literals;

// Agents of a job that is complete end by themselves.
constexpr auto kFarewell = 60s;

class Decider {
 public:
  Decider(const Snapshot& snapshot, const Settings& settings, TimePoint now)
      : snapshot_(snapshot),
        settings_(settings),
        now_(now),
        conditions_(snapshot_.job.status, snapshot.job.generation, now) {}

  Decision decide() {
    const v1alpha1::JobStatus before = status();
    advance();
    if (!is_left_alone()) {
      status().set_observed_generation(job().generation);
      status().set_state(state_of(status()));
    }
    decision_.notes = story_of(before, status());
    decision_.status = status();
    return std::move(decision_);
  }

 private:
  const Job& job() const { return snapshot_.job; }
  v1alpha1::JobStatus& status() { return snapshot_.job.status; }

  bool is_left_alone() const {
    const std::string& manager = job().spec.managed_by();
    return job().being_deleted || !(manager.empty() || manager == kController);
  }

  // The policies, in order; each may be the last one.
  void advance() {
    if (is_left_alone()) return;
    if (is_finished(status())) return tidy_up();
    announce_steps(job().spec, status());
    const bool planned = plan();
    if (snapshot_.progress) follow_saves(*snapshot_.progress, job().generation, now_, status());
    if (is_finished(status()) || end_by_result()) return;
    if (suspend() || end_by_deadline() || !planned) return;
    if (restart_as_told() || replace_losses()) return;
    make_children();
    show_pods();
    show_steps(false);
  }

  bool plan() {
    PlanVerdict verdict = judge_plan(job(), snapshot_.nodes);
    conditions_.set(conditions::kPlanned, verdict.plan.has_value(), verdict.reason, verdict.message);
    if (verdict.plan) {
      decision_.plan = std::move(*verdict.plan);
      show_plan(decision_.plan.plan(), status());
      status().mutable_plan()->set_document(verdict.document);
      return true;
    }
    if (verdict.final) fail(verdict.reason, verdict.message);
    return false;
  }

  bool suspend() {
    switch (judge_suspension(job().spec, status())) {
      case Suspension::kNone:
        return false;
      case Suspension::kResume:
        conditions_.set(conditions::kSuspended, false, reasons::kResumed, "spec.suspend is false");
        if (status().attempt() > 0) status().set_attempt(status().attempt() + 1);
        return false;
      case Suspension::kSuspend:
        conditions_.set(conditions::kSuspended, true, reasons::kByUser,
                        "spec.suspend is true; set it to false to go on");
        for (const char* type : {conditions::kScheduled, conditions::kRunning, conditions::kStalled,
                                 conditions::kStraggling, conditions::kRestarting})
          conditions_.clear(type, conditions::kSuspended, "the job is suspended");
        status().clear_start_time();
        status().clear_short_attempts();
        show_steps(true);
        break;
      case Suspension::kStay:
        show_steps(false);
        break;
    }
    delete_pods([](const PodView& pod) { return !pod.gone_by; });
    return true;
  }

  bool end_by_result() {
    const EndVerdict verdict = judge_end(facts_of(job()), snapshot_.progress, snapshot_.pods, now_);
    if (verdict.last_step) {
      if (!snapshot_.progress) snapshot_.progress.emplace();
      snapshot_.progress->step = verdict.last_step;
    }
    if (verdict.restarts > status().restarts()) status().set_restarts(verdict.restarts);
    switch (verdict.end) {
      case EndVerdict::End::kNone:
        return false;
      case EndVerdict::End::kComplete:
        show_steps(true);
        conditions_.set(conditions::kComplete, true, verdict.reason, verdict.message);
        finish(verdict.reason);
        return true;
      case EndVerdict::End::kFailed:
        show_steps(true);
        fail(verdict.reason, verdict.message);
        return true;
    }
    return false;
  }

  bool end_by_deadline() {
    const DeadlineVerdict verdict = judge_deadline(job().spec, status(), now_);
    if (verdict.look_again) decision_.look_again_in(*verdict.look_again);
    if (!verdict.over) return false;
    show_steps(true);
    fail(reasons::kDeadlineExceeded, verdict.message);
    return true;
  }

  bool restart_as_told() {
    if (!snapshot_.progress) return false;
    if (const auto& event = snapshot_.progress->event) {
      count_told_restarts(job().spec.failure_policy(), *snapshot_.progress, snapshot_.pods, event->attempt(),
                          now_, status());
      const LossVerdict verdict =
          judge_report(job().spec, status(), *snapshot_.progress, snapshot_.pods, now_);
      if (verdict.look_again) decision_.look_again_in(*verdict.look_again);
      if (carry_out(verdict, event->attempt() + 1)) return true;
      if (verdict.reason == reasons::kStalled)
        conditions_.set(conditions::kStalled, true, reasons::kNoStepWithinTimeout, event->message());
    }
    follow_attempts(job().spec, *snapshot_.progress, snapshot_.pods, job().generation, now_, status());
    if (wants_checkpoint(job(), status())) {
      status().set_checkpoint_request(job().checkpoint_request);
      decision_.effects.emplace_back(AskForCheckpoint{});
    }
    return false;
  }

  bool replace_losses() {
    const LossVerdict verdict =
        judge_losses(job().spec, status(), snapshot_.pods, decision_.plan.nodes(), now_);
    if (verdict.look_again) decision_.look_again_in(*verdict.look_again);
    waits_for_result_ = verdict.action == LossVerdict::Action::kNone && verdict.look_again;
    return carry_out(verdict, status().attempt() + 1);
  }

  // True: the job is over.
  bool carry_out(const LossVerdict& verdict, int next_attempt) {
    if (verdict.action == LossVerdict::Action::kNone) return false;
    show_steps(true);
    if (verdict.action == LossVerdict::Action::kFail) {
      fail(verdict.reason, verdict.message);
      return true;
    }
    count_restart(job().spec.failure_policy(), next_attempt, verdict, now_, status());
    conditions_.set(conditions::kRestarting, true, verdict.reason, verdict.message);
    conditions_.clear(conditions::kRunning, reasons::kRendezvous, "the gang is being started again");
    return false;
  }

  void make_children() {
    if (status().attempt() == 0) status().set_attempt(1);
    if (!status().has_restarts()) status().set_restarts(0);
    if (status().start_time().empty()) status().set_start_time(to_text(now_));
    if (waits_for_result_) return;
    ChildrenVerdict verdict = judge_children(snapshot_, decision_.plan, settings_, now_);
    std::ranges::move(verdict.effects, std::back_inserter(decision_.effects));
    decision_.new_certificates = verdict.new_certificates;
    decision_.plan_fingerprint = std::move(verdict.plan_fingerprint);
    if (verdict.look_again) decision_.look_again_in(*verdict.look_again);
  }

  void show_pods() {
    const PodsVerdict pods = judge_pods(snapshot_, decision_.plan.nodes(), now_);
    if (pods.look_again) decision_.look_again_in(*pods.look_again);
    if (pods.all_bound) {
      conditions_.set(conditions::kScheduled, true, reasons::kAllPodsBound, pods.message);
      if (!is_true(status(), conditions::kRunning))
        conditions_.set(conditions::kRunning, false, reasons::kRendezvous,
                        pods.trouble.empty() ? "the agents meet" : pods.trouble);
      return;
    }
    conditions_.set(conditions::kScheduled, false,
                    waited_too_long() ? reasons::kGangTimeout : reasons::kWaitingForPods, pods.message);
  }

  bool waited_too_long() {
    const v1alpha1::Condition* scheduled = find_condition(status(), conditions::kScheduled);
    if (scheduled == nullptr || scheduled->status() == "True" || !job().spec.scheduling().has_gang())
      return false;
    const auto since = to_time(scheduled->last_transition_time());
    const auto end =
        since.value_or(now_) + std::chrono::seconds(job().spec.scheduling().gang().timeout_seconds());
    if (now_ < end) decision_.look_again_in(std::chrono::ceil<std::chrono::milliseconds>(end - now_));
    return now_ >= end;
  }

  void show_steps(bool urgent) {
    if (!snapshot_.progress) return;
    const auto shown = show_progress(job().spec, *snapshot_.progress, urgent, now_, status());
    if (shown.look_again) decision_.look_again_in(*shown.look_again);
  }

  void fail(const std::string& reason, const std::string& message) {
    conditions_.set(conditions::kFailed, true, reason, message);
    finish(reason);
  }

  void finish(const std::string& reason) {
    for (const char* type : {conditions::kSuspended, conditions::kRunning, conditions::kStalled,
                             conditions::kStraggling, conditions::kRestarting})
      conditions_.clear(type, reason, "the job is over");
    status().set_completion_time(to_text(now_));
    tidy_up();
  }

  // Of a finished job: pods that still live, and the job itself when its time is over.
  void tidy_up() {
    const TtlVerdict ttl = judge_ttl(job().spec, status(), now_);
    if (ttl.look_again) decision_.look_again_in(*ttl.look_again);
    if (ttl.expired) {
      decision_.effects.emplace_back(DeleteJob{});
      return;
    }
    const TimePoint farewell = to_time(status().completion_time()).value_or(now_) + kFarewell;
    if (!is_true(status(), conditions::kFailed) && now_ < farewell) {
      decision_.look_again_in(std::chrono::ceil<std::chrono::milliseconds>(farewell - now_));
      return;
    }
    delete_pods([](const PodView& pod) { return pod.alive(); });
  }

  template <typename Which>
  void delete_pods(Which which) {
    for (const PodView& pod : snapshot_.pods) {
      if (which(pod)) decision_.effects.emplace_back(DeletePod{pod.name, pod.uid});
    }
  }

  Snapshot snapshot_;  // its status becomes the new one
  const Settings& settings_;
  TimePoint now_;
  Conditions conditions_;
  Decision decision_;
  bool waits_for_result_ = false;
};

}  // namespace

Decision decide(const Snapshot& snapshot, const Settings& settings, TimePoint now) {
  return Decider(snapshot, settings, now).decide();
}

}  // namespace caravan::controller
