// Which domain each copy of the model gets, of those that were surveyed.
//
// A copy keeps the domain in which pods of its are bound, and the one that its pods ask for while that has
// room. The others get, in their order, the one with least room of those with enough: large ones stay for
// large copies. Room that pods of other jobs wait for is taken where there is no other. A copy that may stand
// in one domain only waits where there is none for the one that its pods ask for, or one where it would fit
// beside no other job, or the largest.
//
// By what is known here a domain may have room that the scheduler never gives. So a copy of a gang that gave
// its machines back gets the one with the next more room, as many further on as it did so, and behind the
// largest the tightest. Pure.
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

struct DomainWish {
  bool waits = false;  // a group without room gets the domain that it waits for, else none
  int given_back = 0;  // times
};

// domains: at least one.
DomainChoice choose_domains(const std::vector<PodView>& pods, const ReplicaGroups& replicas,
                            const std::vector<Domain>& domains, const DomainWish& wish);

}  // namespace caravan::controller
