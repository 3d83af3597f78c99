#include "operator/clock_warning.h"

#include <fmt/format.h>

namespace caravan::controller {
namespace {

constexpr std::chrono::seconds kWrong{30};
constexpr std::chrono::minutes kAgain{10};

}  // namespace

std::string ClockWarning::of(std::chrono::seconds ahead, Clock::TimePoint now) {
  const auto difference = std::chrono::abs(ahead);
  if (difference <= kWrong || !is_due(now)) return "";
  const bool is_ahead = ahead > std::chrono::seconds::zero();
  return fmt::format(
      "this machine's clock is {} s {} the API server's: a pod that is being deleted, or whose node is "
      "silent, counts as gone that much too {}; keep both clocks in step, by NTP",
      difference.count(), is_ahead ? "ahead of" : "behind", is_ahead ? "early" : "late");
}

bool ClockWarning::is_due(Clock::TimePoint now) {
  const std::scoped_lock lock(mutex_);
  if (given_at_ && now - *given_at_ < kAgain) return false;
  given_at_ = now;
  return true;
}

}  // namespace caravan::controller
