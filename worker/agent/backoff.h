// Pauses between tries: they double up to the longest, and each is shortened at random by up to a half, so
// that many who lost the same peer do not come back at once.
#pragma once

#include <algorithm>
#include <chrono>
#include <random>

namespace caravan::agent {

class Backoff {
 public:
  using Duration = std::chrono::milliseconds;

  Backoff(Duration first, Duration longest, unsigned seed = std::random_device{}())
      : first_(first), longest_(longest), next_(first), random_(seed) {}

  Duration next() {
    const double part = std::uniform_real_distribution(0.5, 1.0)(random_);
    const Duration pause(static_cast<Duration::rep>(part * static_cast<double>(next_.count())));
    next_ = std::min(2 * next_, longest_);
    return pause;
  }
  // The next pause is one of the longest, as after many failures.
  void lengthen() { next_ = longest_; }
  // After a success.
  void reset() { next_ = first_; }

 private:
  Duration first_;
  Duration longest_;
  Duration next_;
  std::minstd_rand random_;
};

}  // namespace caravan::agent
