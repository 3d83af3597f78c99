// Which domain each copy of the model gets, of those that were surveyed.
//
// A copy keeps the domain in which pods of its are bound, and the one that its pods ask for while that has
// room. The others get, in their order, the one with least room of those with enough: large ones stay for
// large copies. A copy that may stand in one domain only waits where there is none for the one that its pods
// ask for, or one where it would fit beside no other job, or the largest. Pure.
#pragma once

#include <vector>

#include "operator/children/replica_groups.h"
#include "operator/view/domain_survey.h"
#include "operator/view/pod_view.h"

namespace caravan::controller {

inline constexpr int kNoDomain = -1;

struct DomainChoice {
  std::vector<int> domain_of_group = {};      // index of the domains or kNoDomain
  std::vector<int> groups_without_room = {};  // ascending
};

// domains: at least one. waits: a group without room gets the domain that it waits for, else none.
DomainChoice choose_domains(const std::vector<PodView>& pods, const ReplicaGroups& replicas,
                            const std::vector<Domain>& domains, bool waits);

}  // namespace caravan::controller
