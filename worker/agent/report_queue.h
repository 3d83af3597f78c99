// What waits for a slow reader of the job's story: never more than a bounded number of steps, and every event
// and result.
//
// When it is full, the oldest step goes. What is being sent is not in it.
#pragma once

#include <cstdint>
#include <deque>

#include "caravan/v1alpha1/coordination.pb.h"

namespace caravan::agent {

class ReportQueue {
 public:
  static constexpr std::size_t kMaxSteps = 4096;

  explicit ReportQueue(std::size_t max_steps = kMaxSteps) : max_steps_(max_steps) {}

  void push_back(v1alpha1::JobReport report) {
    if (report.has_step() && ++steps_ > max_steps_) drop_oldest_step();
    reports_.push_back(std::move(report));
  }
  void pop_front() {
    if (reports_.front().has_step()) --steps_;
    reports_.pop_front();
  }
  const v1alpha1::JobReport& front() const { return reports_.front(); }
  bool empty() const { return reports_.empty(); }
  std::int64_t dropped_steps() const { return dropped_steps_; }

 private:
  void drop_oldest_step() {
    for (auto report = reports_.begin(); report != reports_.end(); ++report) {
      if (!report->has_step()) continue;
      reports_.erase(report);
      --steps_;
      ++dropped_steps_;
      return;
    }
  }

  std::size_t max_steps_;
  std::deque<v1alpha1::JobReport> reports_;
  std::size_t steps_ = 0;
  std::int64_t dropped_steps_ = 0;
};

}  // namespace caravan::agent
