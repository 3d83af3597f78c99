#include "operator/controller/domain_policy.h"

#include <algorithm>
#include <cstddef>
#include <set>
#include <variant>

#include "operator/api/job_conditions.h"
#include "operator/api/job_queue.h"
#include "operator/children/replica_groups.h"
#include "operator/children/worker_pod.h"
#include "operator/controller/domain_choice.h"
#include "operator/controller/domain_shortfall.h"
#include "operator/controller/pods_policy.h"
#include "operator/view/node_view.h"

namespace caravan::controller {
namespace {

// By other jobs that end and nodes that come.
constexpr std::chrono::seconds kRoomMayCome{30};

bool is_required(const Job& job) {
  return job.spec.scheduling().topology().mode() == v1alpha1::Topology::Required;
}

// Nodes of copies of which one has its machine, in whatever domain.
std::set<int> settled_nodes(const std::vector<PodView>& pods, const ReplicaGroups& replicas) {
  std::set<int> begun;
  for (const PodView& pod : pods) {
    if (pod.alive() && pod.bound()) begun.insert(pod.node);
  }
  std::set<int> settled;
  for (const std::vector<int>& group : replicas.groups) {
    if (std::ranges::any_of(group, [&](int node) { return begun.contains(node); }))
      settled.insert(group.begin(), group.end());
  }
  return settled;
}

DomainWish wish_of(const Job& job) {
  if (!is_required(job)) return {};
  return {.waits = true, .given_back = job.status.gang().given_back()};
}

int nodes_of_largest_copy(const ReplicaGroups& replicas) {
  std::size_t most = 0;
  for (const std::vector<int>& group : replicas.groups) most = std::max(most, group.size());
  return static_cast<int>(most);
}

// Beside what has machines: where pods of other jobs wait for some, those come first. Tolerations come from
// elsewhere too (a RuntimeClass, the namespace, a webhook), and where no copy could stand without them taints
// count as tolerated.
std::vector<Domain> survey(const Snapshot& seen, WantedRoom wanted, int copy) {
  std::vector<Domain> domains = survey_domains(seen.job, wanted, *seen.nodes, seen.taken);
  if (std::ranges::none_of(domains, [copy](const Domain& domain) { return domain.capacity >= copy; })) {
    wanted.tolerates_all = true;
    domains = survey_domains(seen.job, wanted, *seen.nodes, seen.taken);
  }
  for (Domain& domain : domains) {
    const auto asked = seen.asked_of_domains.find(domain_name(domain.node_labels));
    if (asked != seen.asked_of_domains.end()) domain.claimed = worth_in_pods(asked->second, wanted.of_a_pod);
  }
  return domains;
}

// What counts of a pod's requests is what nodes offer.
WantedRoom wanted_room(const Job& job, const v1alpha1::JobPlan& plan, const Settings& settings) {
  return {.gpu_product = plan.gpu_product(),
          .of_a_pod = read_demand(pod_intent(job, plan, {.node = 0}, settings))};
}

}  // namespace

bool needs_domains(const Snapshot& seen) {
  const auto mode = seen.job.spec.scheduling().topology().mode();
  const bool asks = mode == v1alpha1::Topology::Preferred || mode == v1alpha1::Topology::Required;
  const bool makes_pods = !seen.job.spec.suspend() && !is_finished(seen.job.status);
  if (!asks || !makes_pods || gang_provider(seen.job) == v1alpha1::Gang::Kueue) return false;
  const int per_node = ranks_per_node(seen.job);
  const auto placed =
      std::ranges::count_if(seen.pods, [](const PodView& pod) { return pod.alive() && pod.bound(); });
  return per_node == 0 || placed * per_node < seen.job.spec.resources().devices();
}

DomainVerdict judge_domains(const Snapshot& seen, const v1alpha1::JobPlan& plan, const Settings& settings) {
  DomainVerdict verdict;
  if (!needs_domains(seen)) return verdict;
  const ReplicaGroups replicas = replica_groups(plan);
  const int copy = nodes_of_largest_copy(replicas);
  if (copy <= 1) return verdict;  // on one node it stands together wherever that is
  const std::vector<Domain> domains = survey(seen, wanted_room(seen.job, plan, settings), copy);
  if (domains.empty()) {
    if (is_required(seen.job)) verdict.course = Verdict::Course::kWaits;
    verdict.message = say_no_domain(seen.job, settings);
    verdict.look_again = kRoomMayCome;
    return verdict;
  }
  const DomainChoice choice = choose_domains(seen.pods, replicas, domains, wish_of(seen.job));
  for (const Domain& domain : domains) verdict.placement.domains.push_back(domain.node_labels);
  verdict.placement.domains_are_preferred = !is_required(seen.job);
  verdict.placement.domain_of_node.assign(static_cast<std::size_t>(plan.nodes()), kNoDomain);
  for (std::size_t group = 0; group < replicas.groups.size(); ++group) {
    for (const int node : replicas.groups[group])
      verdict.placement.domain_of_node[static_cast<std::size_t>(node)] = choice.domain_of_group[group];
  }
  if (is_required(seen.job))
    verdict.effects = deletion_of_strays(seen.pods, verdict.placement, settled_nodes(seen.pods, replicas));
  verdict.message = say_no_room(seen.job, choice, replicas);
  if (!verdict.message.empty()) verdict.look_again = kRoomMayCome;
  return verdict;
}

DomainDemands asked_by_new_pods(const Job& job, const Decision& decision, const Settings& settings) {
  DomainDemands asked;
  const bool is_chosen_here = gang_provider(job) != v1alpha1::Gang::Kueue;
  if (!is_chosen_here || decision.placement.domain_of_node.empty()) return asked;
  const Demand of_a_pod = wanted_room(job, decision.plan, settings).of_a_pod;
  for (const Effect& effect : decision.effects) {
    const auto* pod = std::get_if<CreatePod>(&effect);
    const std::string domain = pod == nullptr ? "" : domain_of(decision.placement, pod->node);
    if (!domain.empty()) add_demand(of_a_pod, asked[domain]);
  }
  return asked;
}

}  // namespace caravan::controller
