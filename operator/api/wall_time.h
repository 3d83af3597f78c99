// Times that are kept in memory are of the clock that never jumps; decisions know the wall clock alone.
#pragma once

#include "common/clock.h"

namespace caravan::controller {

// When that was by the wall clock as it goes now: somebody may have set it since.
inline Clock::WallTime wall_time_of(Clock::TimePoint then, const Clock& clock) {
  return clock.wall_now() - std::chrono::duration_cast<Clock::WallTime::duration>(clock.now() - then);
}

}  // namespace caravan::controller
