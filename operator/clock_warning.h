// What the operator's log says of a wall clock that is not the API server's. Of several servers one may be
// wrong: what the others answer takes nothing back, and what lasts is said again now and then.
#pragma once

#include <chrono>
#include <mutex>
#include <optional>
#include <string>

#include "common/clock.h"

namespace caravan::controller {

// Safe for any thread.
class ClockWarning {
 public:
  // ahead: of the server's clock; negative: behind it. Empty: they agree, or it was said within ten minutes.
  std::string of(std::chrono::seconds ahead, Clock::TimePoint now);

 private:
  bool is_due(Clock::TimePoint now);

  std::mutex mutex_;
  std::optional<Clock::TimePoint> given_at_;
};

}  // namespace caravan::controller
