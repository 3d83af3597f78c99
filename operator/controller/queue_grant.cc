#include "operator/controller/queue_grant.h"

#include <fmt/format.h>

#include <algorithm>

#include "operator/api/names.h"
#include "operator/children/replica_groups.h"

namespace caravan::controller {
namespace {

using Texts = std::map<std::string, std::string>;

void give(const Texts& labels, QueueGrant& given) {
  for (const auto& [key, value] : labels) {
    const auto [there, is_new] = given.placement.node_selector.try_emplace(key, value);
    if (!is_new && there->second != value)
      given.conflict = fmt::format("node label {} is to be both '{}' and '{}'", key, there->second, value);
  }
}

void give_domains(const Job& job, const WorkloadView& workload, const v1alpha1::JobPlan& plan,
                  PodPlacement& placement) {
  const v1alpha1::Topology& topology = job.spec.scheduling().topology();
  const bool is_asked =
      topology.mode() == v1alpha1::Topology::Preferred || topology.mode() == v1alpha1::Topology::Required;
  const ReplicaGroups replicas = replica_groups(plan);
  if (is_asked) placement.topology_index = replicas.index_of_node;
  if (workload.domains.empty()) return;
  std::vector<int> domain_of_index;
  for (std::size_t domain = 0; domain < workload.domains.size(); ++domain) {
    placement.domains.push_back(workload.domains[domain].node_labels);
    const int left = plan.nodes() - static_cast<int>(domain_of_index.size());
    domain_of_index.insert(domain_of_index.end(), std::clamp(workload.domains[domain].pods, 0, left),
                           static_cast<int>(domain));
  }
  for (int node = 0; node < plan.nodes(); ++node) {
    const auto index = static_cast<std::size_t>(replicas.index_of_node[static_cast<std::size_t>(node)]);
    placement.domain_of_node.push_back(index < domain_of_index.size() ? domain_of_index[index] : -1);
  }
  // By these the queue knows that it has counted the pod.
  placement.labels[labels::kPodSet] = kPodSetName;
  placement.annotations[annotations::kWorkload] = workload.name;
  if (topology.mode() == v1alpha1::Topology::Preferred) {
    placement.annotations["kueue.x-k8s.io/podset-preferred-topology"] = topology.key();
  } else {
    placement.annotations["kueue.x-k8s.io/podset-unconstrained-topology"] = "true";
  }
}

}  // namespace

QueueGrant grant_of(const Snapshot& seen, const WorkloadView& workload, const v1alpha1::JobPlan& plan) {
  QueueGrant given;
  for (const std::string& name : workload.flavors) {
    const auto flavor = seen.queue.flavors.find(name);
    if (flavor == seen.queue.flavors.end()) {
      given.unknown_flavor = name;
      continue;
    }
    give(flavor->second.node_labels, given);
    std::ranges::copy(flavor->second.tolerations, std::back_inserter(given.placement.tolerations));
  }
  for (const PodSetUpdate& update : workload.updates) {
    give(update.node_selector, given);
    std::ranges::copy(update.tolerations, std::back_inserter(given.placement.tolerations));
    given.placement.labels.insert(update.labels.begin(), update.labels.end());
    given.placement.annotations.insert(update.annotations.begin(), update.annotations.end());
  }
  QueueGrant wanted = given;
  give(Texts(seen.job.spec.worker().node_selector().begin(), seen.job.spec.worker().node_selector().end()),
       wanted);
  given.conflict = wanted.conflict;
  give_domains(seen.job, workload, plan, given.placement);
  return given;
}

}  // namespace caravan::controller
