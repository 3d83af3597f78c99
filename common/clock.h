// Time that can be injected: what the time is, and waiting for a condition until a time.
//
// now() never jumps and is the clock of deadlines and intervals; wall_now() is for time stamps that others
// read. Everything in Caravan that waits does so through wait_until, so that a test moves the time instead of
// sleeping (common/testing/manual_clock.h).
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <stop_token>

namespace caravan {

class Clock {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;
  using Duration = std::chrono::steady_clock::duration;
  using WallTime = std::chrono::system_clock::time_point;

  static constexpr TimePoint kNever = TimePoint::max();

  virtual ~Clock() = default;

  virtual TimePoint now() const = 0;
  virtual WallTime wall_now() const = 0;

  // Waits until `ready` holds, `until` has come or a stop is requested; returns what `ready` says then.
  // Whoever makes it true holds the mutex of `lock` and notifies `changed`.
  virtual bool wait_until(std::unique_lock<std::mutex>& lock, std::condition_variable_any& changed,
                          TimePoint until, const std::stop_token& stop,
                          const std::function<bool()>& ready) = 0;

  // False when a stop was requested before the time came.
  bool sleep_until(TimePoint until, const std::stop_token& stop);
};

class SystemClock final : public Clock {
 public:
  TimePoint now() const override;
  WallTime wall_now() const override;
  bool wait_until(std::unique_lock<std::mutex>& lock, std::condition_variable_any& changed, TimePoint until,
                  const std::stop_token& stop, const std::function<bool()>& ready) override;
};

}  // namespace caravan
