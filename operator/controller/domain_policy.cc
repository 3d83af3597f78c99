#include "operator/controller/domain_policy.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>

#include "operator/api/job_conditions.h"
#include "operator/api/job_queue.h"
#include "operator/children/replica_groups.h"
#include "operator/children/worker_pod.h"
#include "operator/controller/domain_choice.h"
#include "operator/view/domain_survey.h"

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

// Whoever waits in one domain while another has room: a pod asks for one only.
std::vector<Effect> deletion_of_strays(const Snapshot& seen, const ReplicaGroups& replicas,
                                       const PodPlacement& placement) {
  std::set<int> settled;  // nodes of copies of which one has its machine, in whatever domain
  std::set<int> begun;
  for (const PodView& pod : seen.pods) {
    if (pod.alive() && pod.bound()) begun.insert(pod.node);
  }
  for (const std::vector<int>& group : replicas.groups) {
    if (std::ranges::any_of(group, [&](int node) { return begun.contains(node); }))
      settled.insert(group.begin(), group.end());
  }
  std::vector<Effect> effects;
  for (const PodView& pod : seen.pods) {
    const auto node = static_cast<std::size_t>(pod.node);
    if (!pod.alive() || pod.domain.empty() || settled.contains(pod.node) ||
        node >= placement.domain_of_node.size())
      continue;
    const int domain = placement.domain_of_node[node];
    if (domain == kNoDomain) continue;
    if (domain_name(placement.domains[static_cast<std::size_t>(domain)]) != pod.domain)
      effects.emplace_back(DeletePod{pod.name, pod.uid});
  }
  return effects;
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
  if (std::ranges::all_of(replicas.groups, [](const auto& group) { return group.size() == 1; }))
    return verdict;  // a copy on one node stands together wherever that is
  const std::vector<Domain> domains =
      survey_domains(seen.job, wanted_room(seen.job, plan, settings), seen.nodes, seen.taken);
  if (domains.empty()) {
    if (is_required(seen.job)) verdict.course = Verdict::Course::kWaits;
    verdict.message = say_no_domain(seen.job.spec.scheduling().topology().key(), settings);
    verdict.look_again = kRoomMayCome;
    return verdict;
  }
  const DomainChoice choice = choose_domains(seen.pods, replicas, domains, is_required(seen.job));
  for (const Domain& domain : domains) verdict.placement.domains.push_back(domain.node_labels);
  verdict.placement.domains_are_preferred = !is_required(seen.job);
  verdict.placement.domain_of_node.assign(static_cast<std::size_t>(plan.nodes()), kNoDomain);
  for (std::size_t group = 0; group < replicas.groups.size(); ++group) {
    for (const int node : replicas.groups[group])
      verdict.placement.domain_of_node[static_cast<std::size_t>(node)] = choice.domain_of_group[group];
  }
  if (is_required(seen.job)) verdict.effects = deletion_of_strays(seen, replicas, verdict.placement);
  verdict.message = say_no_room(seen.job, choice, replicas);
  if (!verdict.message.empty()) verdict.look_again = kRoomMayCome;
  return verdict;
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
