#include "operator/controller/queue_grant.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "operator/api/names.h"
#include "operator/children/replica_groups.h"
#include "operator/controller/pod_loss.h"
#include "operator/view/node_match.h"

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

std::string value_of(const Texts& texts, const std::string& key) {
  const auto found = texts.find(key);
  return found == texts.end() ? "" : found->second;
}

// In which racks the domains of an assignment are, by the label that the job names: one that goes down to
// hosts tells nothing else of them. Empty: not known.
std::vector<std::string> racks_of(const Snapshot& seen, const std::vector<WorkloadDomain>& domains) {
  const std::string& key = seen.job.spec.scheduling().topology().key();
  Texts rack_of_host;
  for (const NodeView& node : *seen.nodes) {
    if (const std::string host = label_of(node, kHostname); !host.empty())
      rack_of_host.emplace(host, label_of(node, key));
  }
  std::vector<std::string> racks;
  for (const WorkloadDomain& domain : domains) {
    const std::string named = value_of(domain.node_labels, key);
    racks.push_back(named.empty() ? value_of(rack_of_host, value_of(domain.node_labels, kHostname)) : named);
  }
  return racks;
}

// The places that pods get in the domains of an assignment, each once.
class Places {
 public:
  struct Rack {
    std::vector<std::size_t> domains = {};  // in the queue's order
    std::size_t next = 0;
    std::int64_t left = 0;  // places
  };

  // racks: of each domain. Those that are not known count as one.
  Places(const std::vector<WorkloadDomain>& domains, const std::vector<std::string>& racks) {
    std::map<std::string, std::size_t> index_of_rack;
    for (std::size_t domain = 0; domain < domains.size(); ++domain) {
      by_name_.emplace(domain_name(domains[domain].node_labels), domain);
      left_.push_back(std::max(domains[domain].pods, 0));
      const std::size_t rack = index_of_rack.try_emplace(racks[domain], racks_.size()).first->second;
      rack_of_domain_.push_back(rack);
      if (rack == racks_.size()) racks_.emplace_back();
      racks_[rack].domains.push_back(domain);
      racks_[rack].left += left_[domain];
    }
  }

  // kNone: none is left there.
  int take(const std::string& name) {
    const auto [first, last] = by_name_.equal_range(name);
    const auto found = std::find_if(first, last, [this](const auto& each) { return left_[each.second] > 0; });
    return found == last ? kNone : take_from(found->second);
  }

  // The next one of those that are left there.
  int take_in(Rack& rack) {
    while (left_[rack.domains[rack.next]] <= 0) ++rack.next;
    return take_from(rack.domains[rack.next]);
  }

  Rack& rack_of(int domain) { return racks_[rack_of_domain_[static_cast<std::size_t>(domain)]]; }

  // The first with so many places, or else with any; null: none is left.
  Rack* rack_for(std::int64_t pods) {
    Rack* any = nullptr;
    for (Rack& rack : racks_) {
      if (rack.left >= pods) return &rack;
      if (any == nullptr && rack.left > 0) any = &rack;
    }
    return any;
  }

 private:
  int take_from(std::size_t domain) {
    --left_[domain];
    --racks_[rack_of_domain_[domain]].left;
    return static_cast<int>(domain);
  }

  std::multimap<std::string, std::size_t> by_name_;
  std::vector<int> left_;                    // places, by domain
  std::vector<std::size_t> rack_of_domain_;  // index of the following
  std::vector<Rack> racks_;                  // by their first domain
};

// Gives nodes of a copy that have no place yet those that are left in the racks of its others. chosen: by
// node.
void join_others(const std::vector<int>& group, Places& places, std::vector<int>& chosen) {
  const auto place_of = [&](int node) -> int& { return chosen[static_cast<std::size_t>(node)]; };
  const auto lacks_one = [&](int node) { return place_of(node) == kNone; };
  auto lacking = std::ranges::find_if(group, lacks_one);
  for (const int node : group) {
    if (lacks_one(node)) continue;
    Places::Rack& rack = places.rack_of(place_of(node));
    for (; rack.left > 0 && lacking != group.end(); lacking = std::find_if(lacking, group.end(), lacks_one))
      place_of(*lacking) = places.take_in(rack);
  }
}

// Gives those that still have none some in one rack, as far as there is one.
void complete_copy(const std::vector<int>& group, Places& places, std::vector<int>& chosen) {
  auto lacking =
      std::ranges::count_if(group, [&](int node) { return chosen[static_cast<std::size_t>(node)] == kNone; });
  Places::Rack* rack = nullptr;
  for (const int node : group) {
    int& place = chosen[static_cast<std::size_t>(node)];
    if (place != kNone) continue;
    if (rack == nullptr || rack->left == 0) rack = places.rack_for(lacking);
    if (rack == nullptr) return;
    place = places.take_in(*rack);
    --lacking;
  }
}

// By node. Who has a machine goes before who waits for one, then the rest of a copy beside its others, then
// whole copies, since what is left of the others stands apart from them anyway.
std::vector<int> domains_of_nodes(const Snapshot& seen, const WorkloadView& workload,
                                  const ReplicaGroups& replicas) {
  Places places(workload.domains, racks_of(seen, workload.domains));
  std::vector<int> chosen(replicas.index_of_node.size(), kNone);
  const auto newest = newest_by_node(seen.pods);
  for (const bool is_bound : {true, false}) {
    for (std::size_t node = 0; node < chosen.size(); ++node) {
      const auto found = newest.find(static_cast<int>(node));
      if (found == newest.end() || !found->second->alive() || found->second->bound() != is_bound) continue;
      chosen[node] = places.take(found->second->domain);
    }
  }
  for (const std::vector<int>& group : replicas.groups) join_others(group, places, chosen);
  const auto has_place = [&](int node) { return chosen[static_cast<std::size_t>(node)] != kNone; };
  for (const bool is_begun : {false, true}) {
    for (const std::vector<int>& group : replicas.groups) {
      if (std::ranges::any_of(group, has_place) == is_begun) complete_copy(group, places, chosen);
    }
  }
  return chosen;
}

bool asks_for_topology(const Job& job) {
  const auto mode = job.spec.scheduling().topology().mode();
  return mode == v1alpha1::Topology::Preferred || mode == v1alpha1::Topology::Required;
}

void give_domains(const Snapshot& seen, const WorkloadView& workload, const v1alpha1::JobPlan& plan,
                  PodPlacement& placement) {
  const v1alpha1::Topology& topology = seen.job.spec.scheduling().topology();
  const ReplicaGroups replicas = replica_groups(plan);
  if (asks_for_topology(seen.job)) placement.topology_index = replicas.index_of_node;
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

bool needs_racks(const Snapshot& seen) {
  const auto& workload = seen.queue.workload;
  if (!workload || !asks_for_topology(seen.job)) return false;
  std::int64_t named = 0;
  for (const WorkloadDomain& domain : workload->domains) {
    if (domain.node_labels.contains(kHostname)) named += domain.pods;
  }
  return named >
         std::ranges::count_if(seen.pods, [](const PodView& pod) { return pod.alive() && pod.bound(); });
}

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
