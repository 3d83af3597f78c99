// How long an attempt may go without finishing a step before it counts as hung.
//
// At most stallTimeoutSeconds. Once the attempt has finished three steps, three times as long as they take
// (the median of the latest), but no less than 30 s. What is no part of most steps, as an evaluation or a
// checkpoint, is announced by the ranks, and the step that comes later for it may take stallTimeoutSeconds
// again; so may the end of ranks that have all finished their last step. Pure.
#pragma once

#include <chrono>
#include <deque>
#include <optional>

namespace caravan::agent {

class StepClock {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;
  using Seconds = std::chrono::duration<double>;

  void start(TimePoint now);
  void finish_step(int step, double seconds, TimePoint now);
  // The ranks did something that is no step, or wait for a node that is silent as a whole.
  void note_progress(TimePoint now) { last_progress_ = now; }
  void expect_delay(int step);

  bool is_overdue(std::chrono::seconds stall_timeout, TimePoint now) const {
    return silence(now) > limit(stall_timeout);
  }
  // Since something was done.
  Seconds silence(TimePoint now) const { return now - last_progress_; }
  Seconds limit(std::chrono::seconds stall_timeout) const;
  // How long a step takes; absent before the third one.
  std::optional<double> usual_seconds() const;

 private:
  TimePoint last_progress_;
  std::deque<double> step_seconds_;  // of the latest steps
  double median_seconds_ = 0;
  int last_step_ = 0;
  int delayed_step_ = 0;
};

}  // namespace caravan::agent
