#include "operator/controller/pods_policy.h"

#include <algorithm>
#include <optional>
#include <string>

#include "operator/api/conditions.h"
#include "operator/api/names.h"
#include "operator/controller/dead_pod.h"
#include "operator/controller/machine_policy.h"
#include "operator/controller/memory_policy.h"

namespace caravan::controller {
namespace {

using Pods = std::vector<const PodView*>;

// Far less than they are valid: those of a gang that runs are as old as it is.
constexpr std::chrono::hours kRenewedAfter{24 * 365};

// What all nodes of a job are judged by.
struct Gang {
  const Job& job;
  const std::optional<WorkloadView>& workload;
  bool some_run;
  TimePoint now;
};

std::vector<Pods> pods_by_node(const std::vector<PodView>& pods, int nodes) {
  std::vector<Pods> by_node(static_cast<std::size_t>(nodes));
  for (const PodView& pod : pods) {
    if (pod.node >= 0 && pod.node < nodes) by_node[static_cast<std::size_t>(pod.node)].push_back(&pod);
  }
  return by_node;
}

bool needs_certificates(const v1alpha1::JobStatus& status, TimePoint now) {
  const auto issued = to_time(status.certificates().issue_time());
  return !issued || now - *issued > kRenewedAfter;
}

// When a pod that lives is made again all the same, since nothing is to be expected of its machine.
std::optional<TimePoint> made_again_at(const PodView& pod, const v1alpha1::JobStatus& status, bool some_run) {
  if (const auto given_up_at = machine_given_up_at(pod, status)) return given_up_at;
  return some_run ? start_overdue_at(pod) : std::nullopt;
}

// Adds what is deleted there, and the node itself where it needs a pod.
void judge_node(const Gang& gang, int node, const Pods& pods, PodsVerdict& verdict) {
  const auto& [job, workload, some_run, now] = gang;
  const PodView* living = nullptr;
  for (const PodView* pod : pods) {
    if (!pod->alive()) continue;
    if (living != nullptr) verdict.deleted.push_back(living);  // of an older attempt: pods are sorted
    living = pod;
  }
  const auto again_at = living != nullptr ? made_again_at(*living, job.status, some_run) : std::nullopt;
  const bool is_stuck = again_at && now >= *again_at;
  const bool moves =
      living != nullptr && must_move(*living, job.status) && !is_assigned_its_machine(*living, workload);
  if (living != nullptr && (moves || has_old_layout(*living, job.status) || is_stuck)) {
    verdict.deleted.push_back(living);
    return;
  }
  if (again_at) verdict.look_again = sooner(verdict.look_again, until(*again_at, now));
  bool needs_pod = living == nullptr;
  for (const PodView* pod : pods) {
    if (pod->alive()) continue;
    const DeadPod dead = judge_dead_pod(job, *pod, now);
    if (dead.is_deleted) verdict.deleted.push_back(pod);
    if (dead.in_the_way) needs_pod = false;
    verdict.look_again = sooner(verdict.look_again, dead.look_again);
  }
  if (needs_pod) verdict.created.push_back(node);
}

}  // namespace

bool is_assigned_its_machine(const PodView& pod, const std::optional<WorkloadView>& workload) {
  return workload && std::ranges::any_of(workload->domains, [&](const WorkloadDomain& domain) {
           return domain.node_labels.contains(kHostname) && domain_name(domain.node_labels) == pod.domain;
         });
}

PodsVerdict judge_pods(const Job& job, const Snapshot& seen, int nodes, TimePoint now) {
  PodsVerdict verdict;
  const std::vector<PodView>& pods = seen.pods;
  const std::vector<Pods> by_node = pods_by_node(pods, nodes);
  const bool some_run = std::ranges::any_of(
      pods, [](const PodView& pod) { return pod.alive() && pod.phase == PodPhase::kRunning; });
  const Gang gang{.job = job, .workload = seen.queue.workload, .some_run = some_run, .now = now};
  for (int node = 0; node < nodes; ++node)
    judge_node(gang, node, by_node[static_cast<std::size_t>(node)], verdict);
  if (verdict.created.empty()) return verdict;
  verdict.new_certificates = needs_certificates(job.status, now);
  for (const PodView& pod : pods) {
    const bool has_others = verdict.new_certificates || pod.certificates != job.status.certificates().set();
    if (pod.alive() && has_others) verdict.deleted.push_back(&pod);
  }
  return verdict;
}

std::vector<Effect> deletion_of_strays(const std::vector<PodView>& pods, const PodPlacement& placement,
                                       const std::set<int>& settled) {
  std::vector<Effect> effects;
  for (const PodView& pod : pods) {
    if (!pod.alive() || pod.bound() || pod.domain.empty() || settled.contains(pod.node)) continue;
    const std::string domain = domain_of(placement, pod.node);
    if (!domain.empty() && domain != pod.domain)
      effects.emplace_back(DeletePod{pod.name, pod.uid, pod.version});
  }
  return effects;
}

}  // namespace caravan::controller
