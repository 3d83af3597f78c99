// What the steps of a run add up to, over all attempts: for the summary and for the estimate of the time that
// is left.
//
// The first step of an attempt warms caches up and forms connections, so it never counts in times and speed.
// A step that is done again in a later attempt replaces the earlier one. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "caravan/v1alpha1/coordination.pb.h"

namespace caravan::cli {

class RunTally {
 public:
  void add(const v1alpha1::JobStep& step);
  // An attempt goes on after that step.
  void resume_after(int step);

  // The first time; absent where it began with step 1.
  std::optional<int> resumed_step() const { return resumed_step_; }
  // From where the earliest of its attempts began, to the last one.
  int own_steps() const { return last_step_ - begin_.value_or(0); }
  // 0 before the first step.
  int last_step() const { return last_step_; }
  int last_attempt() const { return last_attempt_; }
  std::optional<double> first_loss() const { return first_loss_; }
  std::optional<double> last_loss() const { return last_loss_; }
  std::optional<double> mean_step_seconds() const;
  std::optional<double> worst_step_seconds() const;
  // Of the job's useful FLOPs in the counted time; absent where the device's peak is unknown.
  std::optional<double> mfu() const;
  const std::vector<int64_t>& peak_bytes_per_rank() const { return peak_bytes_per_rank_; }

  // As the last step tells (step_speed.h); absent before the first.
  std::optional<double> remaining_seconds(int steps) const;

 private:
  void begin_after(int step);

  int last_attempt_ = 0;
  int last_step_ = 0;
  std::optional<int> begin_;  // the lowest step after which an attempt began
  std::optional<int> resumed_step_;
  std::optional<double> first_loss_;
  std::optional<double> last_loss_;
  std::optional<double> expected_seconds_;  // of a step
  int counted_steps_ = 0;
  double counted_seconds_ = 0;
  double worst_seconds_ = 0;
  double mfu_seconds_ = 0;  // sum of mfu · seconds
  bool mfu_known_ = false;
  std::vector<int64_t> peak_bytes_per_rank_;
};

}  // namespace caravan::cli
