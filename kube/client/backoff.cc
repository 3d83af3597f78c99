#include "kube/client/backoff.h"

#include <algorithm>
#include <memory>
#include <mutex>
#include <random>

namespace caravan::kube {

using std::chrono::milliseconds;

Random system_random() {
  struct Engine {
    std::mutex mutex;
    std::mt19937_64 generator{std::random_device{}()};
    std::uniform_real_distribution<double> uniform{0.0, 1.0};
  };
  return [engine = std::make_shared<Engine>()] {
    const std::lock_guard guard(engine->mutex);
    return engine->uniform(engine->generator);
  };
}

milliseconds exponential(milliseconds first, milliseconds longest, int failures) {
  milliseconds bound = first;
  // Stops at the longest, so that no number of failures overflows.
  for (int i = 1; i < failures && bound < longest; ++i) bound *= 2;
  return std::min(bound, longest);
}

milliseconds jittered(milliseconds bound, double random) {
  const auto wait = static_cast<milliseconds::rep>(static_cast<double>(bound.count()) * random);
  return std::max(milliseconds(wait), milliseconds(1));
}

milliseconds Backoff::after_failure(Clock::TimePoint now, double random) {
  if (failures_ > 0 && now - retry_at_ >= policy_.quiet_resets) failures_ = 0;
  ++failures_;
  const milliseconds wait = jittered(exponential(policy_.first, policy_.longest, failures_), random);
  retry_at_ = now + wait;
  return wait;
}

}  // namespace caravan::kube
