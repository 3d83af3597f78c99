#include "operator/controller/domain_policy.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>

#include "operator/api/device_labels.h"
#include "operator/api/job_conditions.h"
#include "operator/api/job_queue.h"
#include "operator/api/names.h"
#include "operator/children/replica_groups.h"
#include "operator/children/worker_pod.h"
#include "operator/view/node_match.h"
#include "operator/view/node_view.h"

namespace caravan::controller {
namespace {

using Texts = std::map<std::string, std::string>;

constexpr int kNone = -1;

struct Domain {
  Texts node_labels = {};  // key and name
  int room = 0;            // pods of the job that find room now
  int capacity = 0;        // and if there were no other jobs
};

bool is_required(const Job& job) {
  return job.spec.scheduling().topology().mode() == v1alpha1::Topology::Required;
}

class Chooser {
 public:
  Chooser(const Snapshot& seen, const ReplicaGroups& replicas, const std::vector<Domain>& domains)
      : seen_(seen), replicas_(replicas), domains_(domains) {
    for (const Domain& domain : domains) {
      room_.push_back(domain.room);
      capacity_.push_back(domain.capacity);
    }
  }

  // By group, an index of the domains or kNone.
  std::vector<int> choose() {
    std::vector<int> chosen;
    for (const std::vector<int>& group : replicas_.groups) chosen.push_back(domain_of_living(group));
    for (std::size_t i = 0; i < chosen.size(); ++i) take(chosen[i], replicas_.groups[i].size());
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      if (chosen[i] != kNone) continue;
      const auto pods = static_cast<int>(replicas_.groups[i].size());
      chosen[i] = tightest(room_, pods);
      if (chosen[i] == kNone) {
        without_room.push_back(static_cast<int>(i));
        if (is_required(seen_.job)) chosen[i] = the_one_to_wait_for(pods);
      }
      take(chosen[i], replicas_.groups[i].size());
    }
    return chosen;
  }

  std::vector<int> without_room = {};  // groups

 private:
  int domain_of_living(const std::vector<int>& group) const {
    for (const PodView& pod : seen_.pods) {
      if (!pod.alive() || pod.domain.empty() || !std::ranges::binary_search(group, pod.node)) continue;
      for (std::size_t i = 0; i < domains_.size(); ++i) {
        if (domain_name(domains_[i].node_labels) == pod.domain) return static_cast<int>(i);
      }
    }
    return kNone;
  }

  void take(int domain, std::size_t pods) {
    if (domain == kNone) return;
    room_[static_cast<std::size_t>(domain)] -= static_cast<int>(pods);
    capacity_[static_cast<std::size_t>(domain)] -= static_cast<int>(pods);
  }

  // Of those with room for so many pods, the one that has least: large ones stay for large copies.
  static int tightest(const std::vector<int>& room, int pods) {
    int best = kNone;
    for (std::size_t i = 0; i < room.size(); ++i) {
      if (room[i] < pods) continue;
      if (best == kNone || room[i] < room[static_cast<std::size_t>(best)]) best = static_cast<int>(i);
    }
    return best;
  }

  int the_one_to_wait_for(int pods) const {
    const int fits = tightest(capacity_, pods);
    if (fits != kNone) return fits;
    return static_cast<int>(std::ranges::max_element(capacity_) - capacity_.begin());
  }

  const Snapshot& seen_;
  const ReplicaGroups& replicas_;
  const std::vector<Domain>& domains_;
  std::vector<int> room_;
  std::vector<int> capacity_;
};

std::string say_no_room(const Job& job, const Chooser& chooser, const ReplicaGroups& replicas) {
  if (chooser.without_room.empty()) return "";
  const std::string& key = job.spec.scheduling().topology().key();
  const auto first = static_cast<std::size_t>(chooser.without_room.front());
  const std::string what =
      fmt::format("no domain of {} has room for the {} pods of {} of {} copies of the model", key,
                  replicas.groups[first].size(), chooser.without_room.size(), replicas.groups.size());
  return what + (is_required(job) ? ", which wait for it (topology.mode Required)"
                                  : ", which may stand in several (topology.mode Preferred)");
}

std::string say_no_domain(const std::string& key, const Settings& settings) {
  if (!settings.reads_nodes)
    return "this operator serves one namespace and reads no nodes, so it cannot choose domains of the "
           "topology; "
           "use gang.provider Kueue, or leave topology out";
  return fmt::format(
      "no node that the job may run on has the label {} (scheduling.topology.key), so there is no domain for "
      "its "
      "copies of the model; label the nodes, or suspend the job and change the key",
      key);
}

bool may_run_on(const NodeView& node, const Job& job, const std::string& product) {
  const std::string key = labels_of(job.spec.resources().device().resource_name()).product;
  const bool selects_product =
      job.spec.worker().node_selector().contains(key) || product.empty() || label_of(node, key) == product;
  return selects_product && is_wanted(node, job.spec.worker());
}

int pods_that_fit(const NodeView& node, const Demand& of_a_pod, const Demand& taken) {
  std::int64_t most = of_a_pod.empty() ? 1 : std::numeric_limits<int>::max();
  for (const auto& [resource, asked] : of_a_pod) {
    if (asked <= 0) continue;
    const std::int64_t free = amount_of(node.allocatable, resource) - amount_of(taken, resource);
    most = std::min(most, std::max<std::int64_t>(free, 0) / asked);
  }
  return static_cast<int>(most);
}

// What counts of a pod's requests is what nodes offer.
Demand demand_of(const Job& job, const v1alpha1::JobPlan& plan, const Settings& settings) {
  const kube::Json pod = pod_intent(job, plan, {.node = 0}, settings);
  return read_demand(pod);
}

// By name. How many pods of the job fit into each, on nodes that it may run on.
std::vector<Domain> survey_domains(const Snapshot& seen, const v1alpha1::JobPlan& plan,
                                   const Settings& settings) {
  const std::string& key = seen.job.spec.scheduling().topology().key();
  const Demand of_a_pod = demand_of(seen.job, plan, settings);
  std::map<std::string, Domain> by_name;
  for (const NodeView& node : seen.nodes) {
    const auto name = node.labels.find(key);
    if (name == node.labels.end() || !may_run_on(node, seen.job, plan.gpu_product())) continue;
    Domain& domain = by_name[name->second];
    domain.node_labels = {{key, name->second}};
    const auto taken = seen.taken.find(node.name);
    domain.capacity += pods_that_fit(node, of_a_pod, {});
    domain.room += pods_that_fit(node, of_a_pod, taken == seen.taken.end() ? Demand() : taken->second);
  }
  std::vector<Domain> domains;
  domains.reserve(by_name.size());
  for (auto& [name, domain] : by_name) domains.push_back(std::move(domain));
  return domains;
}

}  // namespace

bool needs_domains(const Snapshot& seen) {
  const auto mode = seen.job.spec.scheduling().topology().mode();
  const bool asks = mode == v1alpha1::Topology::Preferred || mode == v1alpha1::Topology::Required;
  if (!asks || gang_provider(seen.job) == v1alpha1::Gang::Kueue || is_finished(seen.job.status)) return false;
  const v1alpha1::Resources& resources = seen.job.spec.resources();
  const auto placed =
      std::ranges::count_if(seen.pods, [](const PodView& pod) { return pod.alive() && pod.bound(); });
  return !resources.has_devices_per_node() || placed * resources.devices_per_node() < resources.devices();
}

DomainVerdict judge_domains(const Snapshot& seen, const v1alpha1::JobPlan& plan, const Settings& settings) {
  DomainVerdict verdict;
  if (!needs_domains(seen)) return verdict;
  const ReplicaGroups replicas = replica_groups(plan);
  if (std::ranges::all_of(replicas.groups, [](const auto& group) { return group.size() == 1; }))
    return verdict;  // a copy on one node stands together wherever that is
  const std::string& key = seen.job.spec.scheduling().topology().key();
  const std::vector<Domain> domains = survey_domains(seen, plan, settings);
  if (domains.empty()) {
    verdict.no_domain = is_required(seen.job);
    verdict.message = say_no_domain(key, settings);
    return verdict;
  }
  Chooser chooser(seen, replicas, domains);
  const std::vector<int> chosen = chooser.choose();
  for (const Domain& domain : domains) verdict.placement.domains.push_back(domain.node_labels);
  verdict.placement.domains_are_preferred = !is_required(seen.job);
  verdict.placement.domain_of_node.assign(static_cast<std::size_t>(plan.nodes()), kNone);
  for (std::size_t group = 0; group < chosen.size(); ++group) {
    for (const int node : replicas.groups[group])
      verdict.placement.domain_of_node[static_cast<std::size_t>(node)] = chosen[group];
  }
  verdict.message = say_no_room(seen.job, chooser, replicas);
  return verdict;
}

std::string say_what_stands_apart(const Snapshot& seen, const v1alpha1::JobPlan& plan) {
  const ReplicaGroups replicas = replica_groups(plan);
  const auto domain_of = [&](int node) -> std::string {
    const auto pod = std::ranges::find_if(
        seen.pods, [&](const PodView& one) { return one.node == node && one.alive() && one.bound(); });
    if (pod == seen.pods.end()) return "";
    const auto domain = seen.domain_of_machine.find(pod->machine);
    return domain == seen.domain_of_machine.end() ? "" : domain->second;
  };
  const auto apart = std::ranges::count_if(replicas.groups, [&](const std::vector<int>& nodes) {
    std::set<std::string> domains;
    for (const int node : nodes) domains.insert(domain_of(node));
    domains.erase("");
    return domains.size() > 1;
  });
  if (apart == 0) return "";
  return fmt::format("{} of {} copies of the model stand in several domains of {} (topology.mode Preferred)",
                     apart, replicas.groups.size(), seen.job.spec.scheduling().topology().key());
}

}  // namespace caravan::controller
