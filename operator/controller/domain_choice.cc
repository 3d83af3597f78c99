#include "operator/controller/domain_choice.h"

#include <algorithm>

#include "operator/children/pod_placement.h"

namespace caravan::controller {
namespace {

// What the domains have left, by domain.
struct Left {
  explicit Left(const std::vector<Domain>& domains) {
    for (const Domain& domain : domains) {
      room.push_back(domain.room);
      capacity.push_back(domain.capacity);
    }
  }

  void take(int domain, int pods) {
    if (domain == kNoDomain) return;
    room[static_cast<std::size_t>(domain)] -= pods;
    capacity[static_cast<std::size_t>(domain)] -= pods;
  }

  std::vector<int> room = {};
  std::vector<int> capacity = {};
};

// That pods of the copy have already, bound ones or any; kNoDomain: none has one.
int domain_of_pods(const std::vector<int>& group, bool bound, const std::vector<PodView>& pods,
                   const std::vector<Domain>& domains) {
  for (const PodView& pod : pods) {
    if (!pod.alive() || pod.domain.empty() || !std::ranges::binary_search(group, pod.node)) continue;
    if (bound && !pod.bound()) continue;
    for (std::size_t i = 0; i < domains.size(); ++i) {
      if (domain_name(domains[i].node_labels) == pod.domain) return static_cast<int>(i);
    }
  }
  return kNoDomain;
}

// Of those with room for so many pods, the one that has least.
int tightest(const std::vector<int>& room, int pods) {
  int best = kNoDomain;
  for (std::size_t i = 0; i < room.size(); ++i) {
    if (room[i] < pods) continue;
    if (best == kNoDomain || room[i] < room[static_cast<std::size_t>(best)]) best = static_cast<int>(i);
  }
  return best;
}

int the_one_to_wait_for(const std::vector<int>& capacity, int pods) {
  const int fits = tightest(capacity, pods);
  return fits != kNoDomain ? fits : static_cast<int>(std::ranges::max_element(capacity) - capacity.begin());
}

}  // namespace

DomainChoice choose_domains(const std::vector<PodView>& pods, const ReplicaGroups& replicas,
                            const std::vector<Domain>& domains, bool waits) {
  DomainChoice choice;
  Left left(domains);
  for (const std::vector<int>& group : replicas.groups) {
    choice.domain_of_group.push_back(domain_of_pods(group, true, pods, domains));
    left.take(choice.domain_of_group.back(), static_cast<int>(group.size()));
  }
  std::vector<int> asked(replicas.groups.size(), kNoDomain);
  for (std::size_t i = 0; i < replicas.groups.size(); ++i) {
    if (choice.domain_of_group[i] != kNoDomain) continue;
    asked[i] = domain_of_pods(replicas.groups[i], false, pods, domains);
    const auto size = static_cast<int>(replicas.groups[i].size());
    if (asked[i] == kNoDomain || left.room[static_cast<std::size_t>(asked[i])] < size) continue;
    choice.domain_of_group[i] = asked[i];
    left.take(asked[i], size);
  }
  for (std::size_t i = 0; i < replicas.groups.size(); ++i) {
    int& chosen = choice.domain_of_group[i];
    if (chosen != kNoDomain) continue;
    const auto size = static_cast<int>(replicas.groups[i].size());
    chosen = tightest(left.room, size);
    if (chosen == kNoDomain) {
      choice.groups_without_room.push_back(static_cast<int>(i));
      if (waits) chosen = asked[i] != kNoDomain ? asked[i] : the_one_to_wait_for(left.capacity, size);
    }
    left.take(chosen, size);
  }
  return choice;
}

}  // namespace caravan::controller
