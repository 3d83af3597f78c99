// Decides whether a failed call is worth another try, and when. Pure.
//
// The server's Retry-After is obeyed to the letter; without one the wait is exponential from 5 ms with full
// jitter. A call that must not happen twice is tried again only when the server said that it did nothing: it
// answered 429, or answered with Retry-After, or was never reached.
#pragma once

#include <chrono>
#include <optional>

#include "kube/api/api_error.h"

namespace caravan::kube {

enum class Repeatable { kYes, kOnlyWhenRefused };

struct RetryPolicy {
  int tries = 15;
  std::chrono::milliseconds first{5};
  std::chrono::milliseconds longest{1'000'000};
};

// The wait before the next try; nothing when `error` is the final answer. `tries` counts those made so far.
std::optional<std::chrono::milliseconds> wait_before_retry(const RetryPolicy& policy, const ApiError& error,
                                                           Repeatable repeatable, int tries, double random);

}  // namespace caravan::kube
