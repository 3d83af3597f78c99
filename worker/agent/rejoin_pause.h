// How long an agent waits before it looks for the coordinator again: up to half a second in a small gang and
// 30 s in the largest, so that a coordinator that comes back sees about 500 agents a second and not all of
// them at once. Pure.
#pragma once

#include <algorithm>
#include <chrono>

#include "worker/agent/backoff.h"

namespace caravan::agent {

inline std::chrono::milliseconds longest_rejoin_pause(int nodes) {
  using std::chrono::milliseconds;
  return std::clamp(nodes * milliseconds{2}, milliseconds{500}, milliseconds{30'000});
}

inline Backoff rejoin_backoff(int nodes) {
  return {longest_rejoin_pause(nodes) / 10, longest_rejoin_pause(nodes)};
}

}  // namespace caravan::agent
