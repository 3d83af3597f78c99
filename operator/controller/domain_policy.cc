#include "operator/controller/domain_policy.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <string_view>
#include <variant>

#include "operator/api/job_conditions.h"
#include "operator/api/job_queue.h"
#include "operator/children/replica_groups.h"
#include "operator/children/worker_pod.h"
#include "operator/controller/domain_choice.h"
#include "operator/controller/pods_policy.h"
#include "operator/view/node_view.h"

namespace caravan::controller {
namespace {

// By other jobs that end and nodes that come.
constexpr std::chrono::seconds kRoomMayCome{30};

bool is_required(const Job& job) {
  return job.spec.scheduling().topology().mode() == v1alpha1::Topology::Required;
}

std::string say_no_room(const Job& job, const DomainChoice& choice, const ReplicaGroups& replicas) {
  const std::vector<int>& without = choice.groups_without_room;
  if (without.empty()) return "";
  const std::string what =
      fmt::format("no domain of {} has room for the {} pods of {} of {} copies of the model",
                  job.spec.scheduling().topology().key(),
                  replicas.groups[static_cast<std::size_t>(without.front())].size(), without.size(),
                  replicas.groups.size());
  return what + (is_required(job) ? ", which wait for it (topology.mode Required)"
                                  : ", which may stand in several (topology.mode Preferred)");
}

std::string say_no_domain(const std::string& key, const Settings& settings) {
  if (!settings.reads_nodes)
    return "this operator serves one namespace and reads no nodes, so it cannot choose domains of the "
           "topology; use gang.provider Kueue, or leave topology out";
  return fmt::format(
      "no node that the job may run on has the label {} (scheduling.topology.key), so there is no domain for "
      "its copies of the model; label the nodes, or suspend the job and change the key",
      key);
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
    verdict.message = say_no_domain(seen.job.spec.scheduling().topology().key(), settings);
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

std::string say_what_stands_apart(const Snapshot& seen, const v1alpha1::JobPlan& plan) {
  if (seen.domain_of_machine.empty()) return "";
  std::map<int, std::string_view> domain_of_node;
  for (const PodView& pod : seen.pods) {
    const auto domain = seen.domain_of_machine.find(pod.machine);
    if (pod.alive() && domain != seen.domain_of_machine.end() && !domain->second.empty())
      domain_of_node.emplace(pod.node, domain->second);
  }
  const ReplicaGroups replicas = replica_groups(plan);
  const auto apart = std::ranges::count_if(replicas.groups, [&](const std::vector<int>& nodes) {
    std::set<std::string_view> domains;
    for (const int node : nodes) {
      if (const auto domain = domain_of_node.find(node); domain != domain_of_node.end())
        domains.insert(domain->second);
    }
    return domains.size() > 1;
  });
  if (apart == 0) return "";
  return fmt::format("{} of {} copies of the model stand in several domains of {} (topology.mode Preferred)",
                     apart, replicas.groups.size(), seen.job.spec.scheduling().topology().key());
}

}  // namespace caravan::controller
