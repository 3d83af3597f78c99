// A clock that a test moves by hand. Waiters notice within a millisecond of real time.
#pragma once

#include <atomic>
#include <mutex>
#include <set>
#include <thread>

#include "common/clock.h"

namespace caravan::testing {

class ManualClock final : public Clock {
 public:
  // Farther than any machine has been up: where this clock's deadlines meet another clock, they never come or
  // have passed on every machine, and not only on one that was started a short while ago.
  static constexpr TimePoint kStart{std::chrono::years(100)};

  TimePoint now() const override { return kStart + Duration(since_start_.load()); }
  WallTime wall_now() const override {
    return WallTime(std::chrono::seconds(1'700'000'000)) +
           std::chrono::duration_cast<WallTime::duration>(now() - kStart);
  }

  bool wait_until(std::unique_lock<std::mutex>& lock, std::condition_variable_any& changed, TimePoint until,
                  const std::stop_token& stop, const std::function<bool()>& ready) override {
    const Waiting waiting(*this, until);
    while (!ready() && now() < until && !stop.stop_requested()) {
      changed.wait_for(lock, stop, std::chrono::milliseconds(1), ready);
    }
    return ready();
  }

  void advance(Duration by) { since_start_ += by.count(); }

  // Returns once so many wait for exactly this long from now: what a test asks before it moves the time.
  void await_sleepers(std::size_t count, Duration from_now) const {
    while (waiting_until(now() + from_now) < count) std::this_thread::yield();
  }
  void await_sleeper(Duration from_now) const { await_sleepers(1, from_now); }

 private:
  struct Waiting {
    Waiting(ManualClock& of, TimePoint until) : clock(of) {
      const std::lock_guard guard(clock.mutex_);
      entry = clock.waits_.insert(until);
    }
    ~Waiting() {
      const std::lock_guard guard(clock.mutex_);
      clock.waits_.erase(entry);
    }
    Waiting(const Waiting&) = delete;
    Waiting& operator=(const Waiting&) = delete;
    ManualClock& clock;
    std::multiset<TimePoint>::iterator entry;
  };

  std::size_t waiting_until(TimePoint time) const {
    const std::lock_guard guard(mutex_);
    return waits_.count(time);
  }

  std::atomic<Duration::rep> since_start_{0};
  mutable std::mutex mutex_;
  std::multiset<TimePoint> waits_;
};

}  // namespace caravan::testing
