// Times of agents and coordinator where nobody says otherwise.
#pragma once

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

}  // namespace caravan::agent
