#include "operator/controller/children_policy.h"

#include <fmt/format.h>

#include <algorithm>

#include "common/json.h"
#include "operator/api/conditions.h"
#include "operator/api/job_queue.h"
#include "operator/api/names.h"
#include "operator/children/content_note.h"
#include "operator/children/job_objects.h"
#include "operator/children/plan_object.h"
#include "operator/children/pod_group.h"
#include "operator/controller/memory_policy.h"
#include "operator/controller/pods_policy.h"

namespace caravan::controller {
namespace {

void add_missing_objects(const Job& job, const Snapshot& snapshot, const Settings& settings,
                         std::vector<Effect>& effects) {
  if (!snapshot.has_account && job.spec.worker().service_account_name().empty())
    effects.emplace_back(CreateChild{kServiceAccounts, account_intent(job)});
  if (!snapshot.network_policy)
    effects.emplace_back(CreateChild{kNetworkPolicies, network_policy_intent(job, settings)});
  if (!snapshot.has_service) effects.emplace_back(CreateChild{kServices, service_intent(job)});
}

// Where what it must let through has changed with the operator. Behind the pods: they do not wait for it.
void renew_network_policy(const Job& job, const Snapshot& snapshot, const Settings& settings,
                          std::vector<Effect>& effects) {
  if (!snapshot.network_policy) return;
  kube::Json intent = network_policy_intent(job, settings);
  if (snapshot.network_policy->written == noted_content(intent)) return;
  intent.as_object()["metadata"].as_object()["uid"] = snapshot.network_policy->uid;
  effects.emplace_back(ApplyChild{kNetworkPolicies, std::move(intent)});
}

// Pods are made after it.
bool had_plan(const Job& job, const Snapshot& snapshot) {
  if (job.status.memory_correction().has_attempt())
    return std::ranges::any_of(snapshot.pods,
                               [&](const PodView& pod) { return !has_old_layout(pod, job.status); });
  return !snapshot.pods.empty() || find_condition(job.status, conditions::kRunning) != nullptr;
}

Note repair_of_plan(const Job& job, const char* why) {
  return {.type = kube::EventType::kWarning,
          .reason = reasons::kPlanRepaired,
          .action = conditions::kPlanned,
          .text = fmt::format("configmap {} {}; it is written anew from status.plan", plan_name(job), why)};
}

// Nothing when the ConfigMap holds what is wanted.
std::optional<Effect> write_plan(const Job& job, const Snapshot& snapshot, kube::Json intent,
                                 const std::string& fingerprint) {
  std::vector<Note> notes;  // none when it is the job or the operator that has changed
  const bool is_second = plan_name(job) != plan_name(snapshot.job);  // by this decision
  if (!snapshot.plan || is_second) {
    if (had_plan(job, snapshot)) notes = {repair_of_plan(job, "was gone, or had lost its label")};
    return CreateChild{
        .resource = kConfigMaps, .object = std::move(intent), .restore = true, .notes = std::move(notes)};
  }
  const PlanView& there = *snapshot.plan;
  if (there.fingerprint == fingerprint) return std::nullopt;
  if (there.fingerprint != there.written)
    notes = {repair_of_plan(job, "did not hold what the operator had written")};
  intent.as_object()["metadata"].as_object()["uid"] = there.uid;
  return ApplyChild{.resource = kConfigMaps, .object = std::move(intent), .notes = std::move(notes)};
}

// It is not watched: whoever makes pods makes sure that their group is there, and in the queue that the job
// has now.
void add_pod_group(const Job& job, const v1alpha1::JobPlan& plan, std::vector<Effect>& effects) {
  const auto provider = gang_provider(job);
  if (provider != v1alpha1::Gang::Volcano && provider != v1alpha1::Gang::Coscheduling) return;
  PodGroup group = pod_group_intent(job, plan);
  effects.emplace_back(CreateChild{.resource = std::move(group.resource),
                                   .object = std::move(group.object),
                                   .restore = true,
                                   .is_watched = false});
}

void add_pods(const Job& job, const Snapshot& snapshot, const v1alpha1::JobPlan& plan, TimePoint now,
              ChildrenVerdict& verdict) {
  const PodsVerdict pods = judge_pods(job, snapshot, plan.nodes(), now);
  if (!pods.created.empty()) add_pod_group(job, plan, verdict.effects);
  for (const PodView* pod : pods.deleted) verdict.effects.emplace_back(DeletePod{pod->name, pod->uid});
  for (const int node : pods.created) verdict.effects.emplace_back(CreatePod{node});
  verdict.new_certificates = pods.new_certificates;
  verdict.look_again = pods.look_again;
}

}  // namespace

std::string refusal_of_pods(const v1alpha1::JobSpec& spec, const Settings& settings) {
  if (!spec.worker().host_network() || settings.allow_host_network) return "";
  return "spec.worker.hostNetwork: an administrator must allow it first, by the operator's flag "
         "--allow-host-network; or suspend the job, take the field out, and resume it";
}

ChildrenVerdict judge_children(const Job& job, const Snapshot& snapshot, const v1alpha1::JobPlan& plan,
                               bool makes_pods, const Settings& settings, TimePoint now) {
  ChildrenVerdict verdict;
  add_missing_objects(job, snapshot, settings, verdict.effects);
  kube::Json intent = plan_intent(job, to_json(plan), settings);
  verdict.plan_fingerprint = fingerprint_of(intent);
  if (auto effect = write_plan(job, snapshot, std::move(intent), verdict.plan_fingerprint))
    verdict.effects.push_back(*std::move(effect));
  if (makes_pods && refusal_of_pods(job.spec, settings).empty()) add_pods(job, snapshot, plan, now, verdict);
  renew_network_policy(job, snapshot, settings, verdict.effects);
  return verdict;
}

}  // namespace caravan::controller
