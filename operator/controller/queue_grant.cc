#include "operator/controller/queue_grant.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "operator/api/names.h"
#include "operator/children/replica_groups.h"
#include "operator/controller/pod_loss.h"

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

constexpr int kNone = -1;

// The places that pods get in the domains of an assignment, each once.
class Places {
 public:
  explicit Places(const std::vector<WorkloadDomain>& domains) {
    for (const WorkloadDomain& domain : domains) {
      by_name_.emplace(domain_name(domain.node_labels), left_.size());
      left_.push_back(domain.pods);
    }
  }

  // kNone: none is left there.
  int take(const std::string& name) {
    const auto [first, last] = by_name_.equal_range(name);
    const auto found = std::find_if(first, last, [this](const auto& each) { return left_[each.second] > 0; });
    return found == last ? kNone : take_from(found->second);
  }

  // In the queue's order.
  int take_next() {
    while (next_ < left_.size() && left_[next_] <= 0) ++next_;
    return next_ == left_.size() ? kNone : take_from(next_);
  }

 private:
  int take_from(std::size_t domain) {
    --left_[domain];
    return static_cast<int>(domain);
  }

  std::multimap<std::string, std::size_t> by_name_;
  std::vector<int> left_;  // pods, by domain
  std::size_t next_ = 0;
};

// By node. Who has a machine goes before who waits for one.
std::vector<int> domains_of_nodes(const Snapshot& seen, const WorkloadView& workload,
                                  const ReplicaGroups& replicas) {
  Places places(workload.domains);
  std::vector<int> chosen(replicas.index_of_node.size(), kNone);
  const auto newest = newest_by_node(seen.pods);
  for (const bool is_bound : {true, false}) {
    for (std::size_t node = 0; node < chosen.size(); ++node) {
      const auto found = newest.find(static_cast<int>(node));
      if (found == newest.end() || !found->second->alive() || found->second->bound() != is_bound) continue;
      chosen[node] = places.take(found->second->domain);
    }
  }
  for (const std::vector<int>& group : replicas.groups) {
    for (const int node : group) {
      int& domain = chosen[static_cast<std::size_t>(node)];
      if (domain == kNone) domain = places.take_next();
    }
  }
  return chosen;
}

void give_domains(const Snapshot& seen, const WorkloadView& workload, const v1alpha1::JobPlan& plan,
                  PodPlacement& placement) {
  const v1alpha1::Topology& topology = seen.job.spec.scheduling().topology();
  const bool is_asked =
      topology.mode() == v1alpha1::Topology::Preferred || topology.mode() == v1alpha1::Topology::Required;
  const ReplicaGroups replicas = replica_groups(plan);
  if (is_asked) placement.topology_index = replicas.index_of_node;
  if (workload.domains.empty()) return;
  for (const WorkloadDomain& domain : workload.domains) placement.domains.push_back(domain.node_labels);
  placement.domain_of_node = domains_of_nodes(seen, workload, replicas);
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
  give_domains(seen, workload, plan, given.placement);
  return given;
}

}  // namespace caravan::controller
