#include "operator/controller/domain_choice.h"

#include <algorithm>
#include <map>
#include <string>

#include "operator/children/pod_placement.h"

namespace caravan::controller {
namespace {

// What the domains have left, by domain.
struct Left {
  explicit Left(const std::vector<Domain>& domains) {
    for (const Domain& domain : domains) {
      room.push_back(domain.room);
      unclaimed.push_back(domain.room - std::min(domain.room, domain.claimed));
      capacity.push_back(domain.capacity);
    }
  }

  void take(int domain, int pods) {
    if (domain == kNoDomain) return;
    for (std::vector<int>* of_domain : {&room, &unclaimed, &capacity})
      (*of_domain)[static_cast<std::size_t>(domain)] -= pods;
  }

  std::vector<int> room = {};
  std::vector<int> unclaimed = {};
  std::vector<int> capacity = {};
};

// Which domain nodes of the job have by their pods.
class DomainsOfPods {
 public:
  DomainsOfPods(const std::vector<PodView>& pods, const std::vector<Domain>& domains) {
    std::map<std::string, int> named;
    for (std::size_t i = 0; i < domains.size(); ++i)
      named.emplace(domain_name(domains[i].node_labels), static_cast<int>(i));
    for (const PodView& pod : pods) {
      const auto domain = named.find(pod.domain);
      if (!pod.alive() || domain == named.end()) continue;
      any_.emplace(pod.node, domain->second);
      if (pod.bound()) bound_.emplace(pod.node, domain->second);
    }
  }

  // That pods of the copy have already, bound ones or any; kNoDomain: none has one.
  int of_bound(const std::vector<int>& group) const { return first_of(group, bound_); }
  int of_any(const std::vector<int>& group) const { return first_of(group, any_); }

 private:
  static int first_of(const std::vector<int>& group, const std::map<int, int>& domain_of_node) {
    for (const int node : group) {
      if (const auto found = domain_of_node.find(node); found != domain_of_node.end()) return found->second;
    }
    return kNoDomain;
  }

  std::map<int, int> bound_;
  std::map<int, int> any_;
};

// Those with room for so many pods, the one that has least first.
std::vector<int> by_tightness(const std::vector<int>& room, int pods) {
  std::vector<int> domains;
  for (std::size_t i = 0; i < room.size(); ++i) {
    if (room[i] >= pods) domains.push_back(static_cast<int>(i));
  }
  std::ranges::stable_sort(domains, {}, [&](int domain) { return room[static_cast<std::size_t>(domain)]; });
  return domains;
}

// Behind the others those in which pods of other jobs wait, which may never use what they ask for.
std::vector<int> fitting_domains(const Left& left, int pods) {
  std::vector<int> domains = by_tightness(left.unclaimed, pods);
  for (const int domain : by_tightness(left.room, pods)) {
    if (std::ranges::find(domains, domain) == domains.end()) domains.push_back(domain);
  }
  return domains;
}

int choose(const std::vector<int>& fitting, int given_back) {
  if (fitting.empty()) return kNoDomain;
  return fitting[static_cast<std::size_t>(std::max(given_back, 0)) % fitting.size()];
}

int the_one_to_wait_for(const std::vector<int>& capacity, int pods) {
  const std::vector<int> fitting = by_tightness(capacity, pods);
  if (!fitting.empty()) return fitting.front();
  return static_cast<int>(std::ranges::max_element(capacity) - capacity.begin());
}

}  // namespace

DomainChoice choose_domains(const std::vector<PodView>& pods, const ReplicaGroups& replicas,
                            const std::vector<Domain>& domains, const DomainWish& wish) {
  DomainChoice choice;
  Left left(domains);
  const DomainsOfPods taken(pods, domains);
  for (const std::vector<int>& group : replicas.groups) {
    choice.domain_of_group.push_back(taken.of_bound(group));
    left.take(choice.domain_of_group.back(), static_cast<int>(group.size()));
  }
  std::vector<int> asked(replicas.groups.size(), kNoDomain);
  for (std::size_t i = 0; i < replicas.groups.size(); ++i) {
    if (choice.domain_of_group[i] != kNoDomain) continue;
    asked[i] = taken.of_any(replicas.groups[i]);
    const auto size = static_cast<int>(replicas.groups[i].size());
    if (asked[i] == kNoDomain || left.room[static_cast<std::size_t>(asked[i])] < size) continue;
    choice.domain_of_group[i] = asked[i];
    left.take(asked[i], size);
  }
  for (std::size_t i = 0; i < replicas.groups.size(); ++i) {
    int& chosen = choice.domain_of_group[i];
    if (chosen != kNoDomain) continue;
    const auto size = static_cast<int>(replicas.groups[i].size());
    chosen = choose(fitting_domains(left, size), wish.given_back);
    if (chosen == kNoDomain) {
      choice.groups_without_room.push_back(static_cast<int>(i));
      if (wish.waits) chosen = asked[i] != kNoDomain ? asked[i] : the_one_to_wait_for(left.capacity, size);
    }
    left.take(chosen, size);
  }
  return choice;
}

}  // namespace caravan::controller
