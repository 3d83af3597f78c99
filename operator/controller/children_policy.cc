#include "operator/controller/children_policy.h"

#include <fmt/format.h>

#include <algorithm>

#include "common/json.h"
#include "operator/api/names.h"
#include "operator/children/job_objects.h"
#include "operator/children/plan_object.h"
#include "operator/children/worker_pod.h"
#include "operator/controller/conditions.h"
#include "operator/controller/machine_policy.h"
#include "operator/controller/pod_trouble.h"
#include "policy/failure_policy.h"

namespace caravan::controller {
namespace {

using std::chrono::milliseconds;

// Far less than they are valid: those of a gang that runs are as old as it is.
constexpr std::chrono::hours kRenewedAfter{24 * 365};

class Children {
 public:
  Children(const Job& job, const Snapshot& snapshot, const v1alpha1::JobPlan& plan, const Settings& settings,
           TimePoint now)
      : snapshot_(snapshot), job_(job), plan_(plan), settings_(settings), now_(now) {
    by_node_.resize(static_cast<std::size_t>(plan.nodes()));
    for (const PodView& pod : snapshot.pods) {
      if (pod.node >= 0 && pod.node < plan.nodes())
        by_node_[static_cast<std::size_t>(pod.node)].push_back(&pod);
    }
  }

  ChildrenVerdict take() { return std::move(verdict_); }

  void add_objects() {
    if (!snapshot_.has_account && job_.spec.worker().service_account_name().empty())
      create(kServiceAccounts, account_intent(job_));
    if (!snapshot_.has_network_policy) create(kNetworkPolicies, network_policy_intent(job_, settings_));
    if (!snapshot_.has_service) create(kServices, service_intent(job_));
    add_plan();
  }

  void add_pods() {
    std::vector<int> missing;
    for (int node = 0; node < plan_.nodes(); ++node) {
      if (needs_pod(node)) missing.push_back(node);
    }
    if (missing.empty()) return;
    const bool new_set = needs_certificates();
    verdict_.new_certificates = new_set;
    for (const PodView& pod : snapshot_.pods) {
      const bool has_others = new_set || pod.certificates != job_.status.certificates().set();
      if (pod.alive() && has_others) remove(pod);
    }
    for (const int node : missing) verdict_.effects.emplace_back(CreatePod{node});
  }

 private:
  void create(const kube::Resource& resource, kube::Json object) {
    verdict_.effects.emplace_back(CreateChild{resource, std::move(object)});
  }

  void add_plan() {
    kube::Json intent = plan_intent(job_, to_json(plan_), settings_);
    verdict_.plan_fingerprint = fingerprint_of(intent);
    if (!snapshot_.plan) {
      std::vector<Note> notes;
      if (had_plan()) notes = {repair("was gone, or had lost its label")};
      verdict_.effects.emplace_back(CreateChild{
          .resource = kConfigMaps, .object = std::move(intent), .restore = true, .notes = std::move(notes)});
      return;
    }
    const PlanView& there = *snapshot_.plan;
    if (there.fingerprint == verdict_.plan_fingerprint) return;
    std::vector<Note> notes;  // none when it is the job or the operator that has changed
    if (there.fingerprint != there.written) notes = {repair("did not hold what the operator had written")};
    intent.as_object()["metadata"].as_object()["uid"] = there.uid;
    verdict_.effects.emplace_back(ApplyChild{kConfigMaps, std::move(intent), std::move(notes)});
  }

  // Pods are made after it.
  bool had_plan() const {
    return !snapshot_.pods.empty() || find_condition(job_.status, conditions::kRunning) != nullptr;
  }

  Note repair(const char* why) const {
    return {
        .type = kube::EventType::kWarning,
        .reason = reasons::kPlanRepaired,
        .action = conditions::kPlanned,
        .text = fmt::format("configmap {} {}; it is written anew from status.plan", plan_name(job_), why)};
  }

  void remove(const PodView& pod) { verdict_.effects.emplace_back(DeletePod{pod.name, pod.uid}); }
  void look_again_at(TimePoint time) {
    const auto wait = std::max(std::chrono::ceil<milliseconds>(time - now_), milliseconds{1});
    if (!verdict_.look_again || wait < *verdict_.look_again) verdict_.look_again = wait;
  }

  bool needs_certificates() const {
    const auto issued = to_time(job_.status.certificates().issue_time());
    return !issued || now_ - *issued > kRenewedAfter;
  }

  bool needs_pod(int node) {
    const auto& pods = by_node_[static_cast<std::size_t>(node)];
    const PodView* living = nullptr;
    for (const PodView* pod : pods) {
      if (!pod->alive()) continue;
      if (living != nullptr) remove(*living);  // of an older attempt: pods are sorted
      living = pod;
    }
    if (living != nullptr && must_move(*living, job_.status)) {
      remove(*living);
      return false;
    }
    bool needed = living == nullptr;
    for (const PodView* pod : pods) {
      if (pod != living && !pod->alive() && !is_out_of_the_way(*pod)) needed = false;
    }
    return needed;
  }

  // Deletes it where that is due.
  bool is_out_of_the_way(const PodView& pod) {
    if (pod.gone_by) {
      if (pod.ended() || now_ > *pod.gone_by) return pod.name != pod_name(job_, pod.node, attempt());
      look_again_at(*pod.gone_by + std::chrono::seconds(1));
      return false;
    }
    if (const TimePoint ready = replaced_at(pod); now_ < ready) {
      look_again_at(ready);
      return false;
    }
    remove(pod);
    return true;
  }

  // A pod that its machine rejected has no end of its own.
  TimePoint replaced_at(const PodView& pod) const {
    return pod.finished_at.value_or(pod.created_at) +
           policy::pause_before_restart(job_.status.short_attempts());
  }

  int attempt() const { return job_.status.attempt(); }

  const Snapshot& snapshot_;
  const Job& job_;
  const v1alpha1::JobPlan& plan_;
  const Settings& settings_;
  TimePoint now_;
  std::vector<std::vector<const PodView*>> by_node_;
  ChildrenVerdict verdict_;
};

}  // namespace

ChildrenVerdict judge_children(const Job& job, const Snapshot& snapshot, const v1alpha1::JobPlan& plan,
                               const Settings& settings, TimePoint now) {
  Children children(job, snapshot, plan, settings, now);
  children.add_objects();
  children.add_pods();
  return children.take();
}

PodsVerdict judge_pods(const Snapshot& snapshot, int nodes, TimePoint now) {
  int bound = 0;
  PodsVerdict verdict{.trouble = snapshot.trouble};
  for (const PodView& pod : snapshot.pods) {
    const bool is_done = pod.phase == PodPhase::kSucceeded && !pod.gone_by;  // agents do not end all at once
    if (!pod.alive() && !is_done && !pod.leaving()) continue;
    if (pod.bound() && !pod.leaving()) ++bound;
    std::string trouble = pod.leaving() ? explain_leaving(*pod.gone_by) : pod.trouble;
    if (pod.creating_since) {
      const TimePoint slow_at = *pod.creating_since + kSlowCreation;
      if (now >= slow_at) trouble = explain_slow_creation(pod.name);
      const auto wait = std::chrono::ceil<milliseconds>(slow_at - now);
      if (now < slow_at) verdict.look_again = std::min(wait, verdict.look_again.value_or(wait));
    }
    if (verdict.trouble.empty() && !trouble.empty())
      verdict.trouble = fmt::format("pod {}: {}", pod.name, trouble);
  }
  verdict.all_bound = bound == nodes;
  verdict.message = verdict.all_bound ? fmt::format("all {} pods have a machine", nodes)
                                      : fmt::format("{} of {} pods have a machine", bound, nodes);
  if (!verdict.trouble.empty()) verdict.message += "; " + verdict.trouble;
  return verdict;
}

}  // namespace caravan::controller
