#include "operator/cache_state.h"

#include <algorithm>

namespace caravan::controller {

std::vector<CacheState> states_of(std::span<kube::Informer* const> informers, Clock::TimePoint now) {
  std::vector<CacheState> states;
  for (const kube::Informer* informer : informers) {
    if (!informer->synced()) continue;
    states.push_back({.plural = informer->path().resource.plural,
                      .resource_version = informer->store().resource_version(),
                      .age = now - informer->heard_at()});
  }
  return states;
}

Clock::Duration longest_stuck(std::span<kube::Informer* const> informers) {
  Clock::Duration longest = Clock::Duration::zero();
  for (const kube::Informer* informer : informers) longest = std::max(longest, informer->stuck_for());
  return longest;
}

}  // namespace caravan::controller
