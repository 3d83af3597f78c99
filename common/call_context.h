// How long a call may take and who can end it early; the first parameter of whatever can block.
#pragma once

#include <algorithm>
#include <stop_token>

#include "common/clock.h"

namespace caravan {

struct CallContext {
  std::stop_token stop = {};
  Clock::TimePoint deadline = Clock::kNever;

  // The same, ending at `time` at the latest.
  CallContext until(Clock::TimePoint time) const {
    return {.stop = stop, .deadline = std::min(deadline, time)};
  }
};

}  // namespace caravan
