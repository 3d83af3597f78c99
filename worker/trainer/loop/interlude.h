// That training waits for a checkpoint or an evaluation, told once at the start and again while the wait goes
// on.
//
// Again only while any rank gets on with its part, so that one that hangs is taken for what it is, or where
// the wait has an end of its own.
#pragma once

#include <chrono>
#include <cstdint>

#include "worker/trainer/loop/reporter.h"

namespace caravan::trainer {

class Interlude {
 public:
  // reporter: of the rank that tells, which outlives this; none on all others.
  explicit Interlude(const Reporter* reporter) : reporter_(reporter) {}

  void begin(int delayed_step);
  // done: pieces of work that all ranks have done.
  void go_on(int64_t done, bool has_end);

 private:
  using Clock = std::chrono::steady_clock;
  void tell(bool goes_on);

  const Reporter* reporter_;
  int delayed_step_ = 0;
  Clock::time_point told_ = Clock::now();
  int64_t done_ = 0;  // when it was told
};

}  // namespace caravan::trainer
