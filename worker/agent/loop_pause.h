// How long an agent's loop may sleep when nothing happens. Pure.
#pragma once

#include <algorithm>
#include <chrono>

namespace caravan::agent {

struct LoopState {
  using TimePoint = std::chrono::steady_clock::time_point;

  bool over = false;    // only ranks that still end are waited for
  bool joined = false;  // or on the way
  bool has_ranks = false;
  TimePoint beat_at;
  TimePoint join_at;
};

inline std::chrono::milliseconds loop_pause(const LoopState& state, LoopState::TimePoint now) {
  using std::chrono::milliseconds;
  // Ranks that were killed wake the loop when they end; this is only for one that hangs in the kernel.
  constexpr milliseconds kEndOfRanks{100};
  if (state.has_ranks && (state.over || !state.joined)) return kEndOfRanks;
  const auto next = state.joined ? state.beat_at : state.join_at;
  return std::max(std::chrono::ceil<milliseconds>(next - now), milliseconds{0});
}

}  // namespace caravan::agent
