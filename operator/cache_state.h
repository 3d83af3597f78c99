// How far the operator's local copies are: what its metrics show and its liveness probe goes by.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "kube/watch/informer.h"

namespace caravan::controller {

// Of one resource.
struct CacheState {
  std::string plural;
  std::string resource_version;
  Clock::Duration age;  // since the server last told anything of it
};

// Of those that are filled.
std::vector<CacheState> states_of(std::span<kube::Informer* const> informers, Clock::TimePoint now);
// Of the one that is so for longest, see Informer.
Clock::Duration longest_stuck(std::span<kube::Informer* const> informers);

}  // namespace caravan::controller
