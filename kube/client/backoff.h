// Exponential backoff with full jitter, as a value: the same failures and the same random numbers, the same
// waits.
//
// The wait is uniform in (0, bound], and the bound doubles with each failure up to a maximum, for any number
// of failures. A failure after a quiet time starts again at the first bound.
#pragma once

#include <chrono>
#include <functional>

#include "common/clock.h"

namespace caravan::kube {

// Uniform in [0, 1).
using Random = std::function<double()>;

// Seeded from the system, safe to call from several threads.
Random system_random();

struct BackoffPolicy {
  std::chrono::milliseconds first{800};
  std::chrono::milliseconds longest{30'000};
  std::chrono::milliseconds quiet_resets{120'000};
};

class Backoff {
 public:
  explicit Backoff(BackoffPolicy policy) : policy_(policy) {}

  // How long to wait after a failure at `now`.
  std::chrono::milliseconds after_failure(Clock::TimePoint now, double random);
  int failures() const { return failures_; }

 private:
  BackoffPolicy policy_;
  int failures_ = 0;
  Clock::TimePoint retry_at_{};
};

// The bound before jitter after `failures` failures (from 1): first · 2^(failures-1), at most longest.
std::chrono::milliseconds exponential(std::chrono::milliseconds first, std::chrono::milliseconds longest,
                                      int failures);
// Full jitter; at least a millisecond, so that a loop never spins.
std::chrono::milliseconds jittered(std::chrono::milliseconds bound, double random);

}  // namespace caravan::kube
