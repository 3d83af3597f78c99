// Times of agents and coordinator where nobody says otherwise.
#pragma once

#include <algorithm>
#include <chrono>

namespace caravan::agent {

// Of spec.stallTimeoutSeconds and logEverySeconds; a test holds them against the schema.
inline constexpr std::chrono::seconds kStallTimeout{600};
inline constexpr std::chrono::seconds kLogEvery{1};

// How long one waits for another.
inline constexpr std::chrono::seconds kRejoinTimeout{600};
inline constexpr std::chrono::milliseconds kHeartbeat{1000};

// With somebody who is silent, outside of pods.
constexpr std::chrono::milliseconds patience_of(std::chrono::milliseconds heartbeat) {
  return 7 * heartbeat / 2;
}

// With one address of a name. While the pod of a machine that died is being deleted, the coordinator's name
// is that pod's too, and patience must last for the address that lives.
inline constexpr std::chrono::milliseconds kConnectTimeout{3'000};
constexpr std::chrono::milliseconds connect_timeout_of(std::chrono::milliseconds patience) {
  return std::min(kConnectTimeout, patience / 4);
}

}  // namespace caravan::agent
