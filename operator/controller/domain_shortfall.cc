#include "operator/controller/domain_shortfall.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <string_view>
#include <vector>

namespace caravan::controller {

std::string say_no_domain(const Job& job, const Settings& settings) {
  if (!settings.reads_nodes)
    return "this operator serves one namespace and reads no nodes, so it cannot choose domains of the "
           "topology; use gang.provider Kueue, or leave topology out";
  return fmt::format(
      "no node that the job may run on has the label {} (scheduling.topology.key), so there is no domain for "
      "its copies of the model; label the nodes, or suspend the job and change the key",
      job.spec.scheduling().topology().key());
}

std::string say_no_room(const Job& job, const DomainChoice& choice, const ReplicaGroups& replicas) {
  const std::vector<int>& without = choice.groups_without_room;
  if (without.empty()) return "";
  const std::string what =
      fmt::format("no domain of {} has room for the {} pods of {} of {} copies of the model",
                  job.spec.scheduling().topology().key(),
                  replicas.groups[static_cast<std::size_t>(without.front())].size(), without.size(),
                  replicas.groups.size());
  const bool is_required = job.spec.scheduling().topology().mode() == v1alpha1::Topology::Required;
  return what + (is_required ? ", which wait for it (topology.mode Required)"
                             : ", which may stand in several (topology.mode Preferred)");
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
