// What a reader of the job's reports has not read yet.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "caravan/v1alpha1/coordination.pb.h"
#include "proto/caravan/v1alpha1/reasons.h"

namespace caravan::agent {

// A step with the peak of the fullest rank alone: what a status shows, however many ranks there are.
inline void keep_one_peak(v1alpha1::JobStep& step) {
  auto& peaks = *step.mutable_peak_bytes_per_rank();
  if (peaks.empty()) return;
  peaks[0] = *std::max_element(peaks.begin(), peaks.end());
  peaks.Truncate(1);
}

// What waits for a slow reader: never more than a bounded number of steps, and every event and result. When
// it is full, the oldest step goes. What is being sent is not in it.
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

 private:
  void drop_oldest_step() {
    for (auto report = reports_.begin(); report != reports_.end(); ++report) {
      if (!report->has_step()) continue;
      reports_.erase(report);
      --steps_;
      return;
    }
  }

  std::size_t max_steps_;
  std::deque<v1alpha1::JobReport> reports_;
  std::size_t steps_ = 0;
};

// What brings a reader up to date that comes after the beginning.
class LatestReports {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  void add(const v1alpha1::JobReport& report, TimePoint now) {
    if (report.has_event()) add_event(report);
    if (report.has_step()) step_ = report;
    if (report.has_checkpoint()) add_checkpoint({report, now});
    if (report.has_result()) result_ = report;
    if (!report.has_attempt_started()) return;
    attempt_ = report;
    step_.reset();
    resumed_.reset();
    stragglers_.clear();
  }
  // Somebody has read them, and has counted what checkpoints cost: who comes next is not to count it again.
  void note_read() {
    for (auto* told : {&written_, &failed_, &resumed_}) {
      if (*told) (*told)->report.mutable_checkpoint()->mutable_report()->clear_stall_seconds();
    }
  }
  // In the order in which they happened, but that checkpoints, which outlive attempts, come before all.
  std::vector<v1alpha1::JobReport> reports(TimePoint now) const {
    std::vector<v1alpha1::JobReport> all;
    const bool failed_since =
        event_ && attempt_ && event_->event().attempt() >= attempt_->attempt_started().attempt();
    if (written_) all.push_back(written_->told_again(now));
    if (failed_) all.push_back(failed_->told_again(now));
    if (!failed_since && event_) all.push_back(*event_);
    if (attempt_) all.push_back(*attempt_);
    if (resumed_) all.push_back(resumed_->told_again(now));
    if (step_) all.push_back(*step_);
    all.insert(all.end(), stragglers_.begin(), stragglers_.end());
    if (failed_since) all.push_back(*event_);
    if (result_) all.push_back(*result_);
    return all;
  }

 private:
  struct Checkpoint {
    v1alpha1::JobReport report;
    TimePoint at;

    v1alpha1::JobReport told_again(TimePoint now) const {
      v1alpha1::JobReport again = report;
      again.mutable_checkpoint()->set_seconds_ago(std::chrono::duration<double>(now - at).count());
      return again;
    }
  };

  void add_checkpoint(Checkpoint told) {
    switch (told.report.checkpoint().report().outcome()) {
      case v1alpha1::CheckpointReport::Written:
        written_ = std::move(told);
        failed_.reset();
        break;
      case v1alpha1::CheckpointReport::Failed:
        failed_ = std::move(told);
        break;
      case v1alpha1::CheckpointReport::Resumed:
        resumed_ = std::move(told);
        break;
      default:
        break;
    }
  }
  void add_event(const v1alpha1::JobReport& report) {
    if (report.event().reason() == reasons::kStraggler) {
      stragglers_.push_back(report);
    } else if (report.event().reason() != reasons::kNodeAbsent) {  // which is told again
      event_ = report;
    }
  }

  std::optional<v1alpha1::JobReport> attempt_;
  std::optional<v1alpha1::JobReport> step_;
  std::optional<v1alpha1::JobReport> event_;     // the last failure
  std::vector<v1alpha1::JobReport> stragglers_;  // of the attempt, of which the coordinator names a few
  std::optional<Checkpoint> written_;            // the last complete one
  std::optional<Checkpoint> failed_;             // the last one since
  std::optional<Checkpoint> resumed_;            // that the attempt goes on from
  std::optional<v1alpha1::JobReport> result_;
};

}  // namespace caravan::agent
