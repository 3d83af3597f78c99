// Whether every thread of the operator gets on: what its liveness probe says. Pure.
//
// A thread that waits for an API server gets on, since its calls end in time: an outage, or a right that is
// missing, restarts no operator. Restarting helps against threads that hang, and those are what is looked
// for.
#pragma once

#include <optional>
#include <string>

#include "common/clock.h"

namespace caravan::controller {

struct Pulse {
  bool election_gets_on = true;
  // How long the one that takes longest has been at what it does now.
  Clock::Duration reconcile{};
  Clock::Duration cache{};  // beyond the time that it may be silent
  Clock::Duration event{};
  Clock::Duration review{};  // of the token of a reporter
};

// What hangs, in words; absent: nothing does.
std::optional<std::string> what_hangs(const Pulse& pulse);

}  // namespace caravan::controller
