#include "worker/agent/step_clock.h"

#include <algorithm>
#include <vector>

namespace caravan::agent {
namespace {

constexpr std::size_t kFewestSteps = 3;
constexpr std::size_t kMostSteps = 99;
constexpr double kStepsPerLimit = 3;
constexpr StepClock::Seconds kShortestLimit{30};

double median_of(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

void StepClock::start(TimePoint now) {
  *this = {};
  last_progress_ = now;
}

void StepClock::finish_step(int step, double seconds, TimePoint now) {
  last_progress_ = now;
  last_step_ = step;
  step_seconds_.push_back(seconds);
  if (step_seconds_.size() > kMostSteps) step_seconds_.pop_front();
  median_seconds_ = median_of({step_seconds_.begin(), step_seconds_.end()});
}

void StepClock::expect_delay(int step) {
  delayed_step_ = std::max(delayed_step_, step);
}

StepClock::Seconds StepClock::limit(std::chrono::seconds stall_timeout) const {
  const auto usual = usual_seconds();
  if (!usual || last_step_ < delayed_step_) return stall_timeout;
  return std::min<Seconds>(stall_timeout, std::max(kShortestLimit, Seconds(kStepsPerLimit * *usual)));
}

std::optional<double> StepClock::usual_seconds() const {
  if (step_seconds_.size() < kFewestSteps) return std::nullopt;
  return median_seconds_;
}

}  // namespace caravan::agent
