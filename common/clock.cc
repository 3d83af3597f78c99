#include "common/clock.h"

namespace caravan {

bool Clock::sleep_until(TimePoint until, const std::stop_token& stop) {
  std::mutex mutex;
  std::condition_variable_any never_notified;
  std::unique_lock lock(mutex);
  wait_until(lock, never_notified, until, stop, [] { return false; });
  return !stop.stop_requested();
}

Clock::TimePoint SystemClock::now() const {
  return std::chrono::steady_clock::now();
}

Clock::WallTime SystemClock::wall_now() const {
  return std::chrono::system_clock::now();
}

bool SystemClock::wait_until(std::unique_lock<std::mutex>& lock, std::condition_variable_any& changed,
                             TimePoint until, const std::stop_token& stop,
                             const std::function<bool()>& ready) {
  // wait_until(max) overflows where the library converts between clocks.
  if (until == kNever) return changed.wait(lock, stop, ready);
  return changed.wait_until(lock, stop, until, ready);
}

}  // namespace caravan
