// A clock that a test moves by hand and whose time of day it sets.
#pragma once

#include <atomic>

#include "common/testing/manual_clock.h"

namespace caravan::controller::testing {

class SettableClock final : public Clock {
 public:
  TimePoint now() const override { return hand_.now(); }
  WallTime wall_now() const override { return hand_.wall_now() + set_by_.load(); }
  bool wait_until(std::unique_lock<std::mutex>& lock, std::condition_variable_any& changed, TimePoint until,
                  const std::stop_token& stop, const std::function<bool()>& ready) override {
    return hand_.wait_until(lock, changed, until, stop, ready);
  }

  caravan::testing::ManualClock& hand() { return hand_; }
  void set(WallTime time) { set_by_ = time - hand_.wall_now(); }

 private:
  caravan::testing::ManualClock hand_;
  std::atomic<WallTime::duration> set_by_{WallTime::duration::zero()};
};

}  // namespace caravan::controller::testing
