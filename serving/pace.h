// A rate that is kept on the long run, with a burst before it holds. A value; the caller tells the time.
#pragma once

#include <algorithm>
#include <optional>

#include "common/clock.h"

namespace caravan {

class Pace {
 public:
  Pace(double per_second, double burst) : per_second_(per_second), burst_(burst), left_(burst) {}

  // Takes the next place, and says how long to wait until it comes.
  Clock::Duration reserve(Clock::TimePoint now) {
    refill(now);
    left_ -= 1;
    const std::chrono::duration<double> wait(std::max(0.0, -left_ / per_second_));
    return std::chrono::duration_cast<Clock::Duration>(wait);
  }
  // False, and nothing taken, when there is none now.
  bool try_take(Clock::TimePoint now) {
    refill(now);
    if (left_ < 1) return false;
    left_ -= 1;
    return true;
  }

  // As good as new.
  bool is_rested(Clock::TimePoint now) const {
    Pace then = *this;
    then.refill(now);
    return then.left_ >= burst_;
  }

 private:
  void refill(Clock::TimePoint now) {
    if (last_) left_ += per_second_ * std::chrono::duration<double>(now - *last_).count();
    left_ = std::min(left_, burst_);
    last_ = now;
  }

  double per_second_;
  double burst_;
  double left_;
  std::optional<Clock::TimePoint> last_ = {};
};

}  // namespace caravan
