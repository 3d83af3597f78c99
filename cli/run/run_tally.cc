#include "cli/run/run_tally.h"

#include <algorithm>

#include "proto/caravan/v1alpha1/step_speed.h"

namespace caravan::cli {

void RunTally::add(const v1alpha1::JobStep& step) {
  const bool warms_up = step.attempt() != last_attempt_;
  if (warms_up) begin_after(step.step() - 1);
  last_attempt_ = step.attempt();
  last_step_ = step.step();
  if (!first_loss_) first_loss_ = step.loss();
  last_loss_ = step.loss();
  expected_seconds_ = expected_seconds(step);

  const auto ranks = static_cast<std::size_t>(step.peak_bytes_per_rank_size());
  peak_bytes_per_rank_.resize(std::max(peak_bytes_per_rank_.size(), ranks), 0);
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    peak_bytes_per_rank_[rank] =
        std::max(peak_bytes_per_rank_[rank], step.peak_bytes_per_rank(static_cast<int>(rank)));
  }

  if (warms_up) return;
  ++counted_steps_;
  counted_seconds_ += step.seconds();
  worst_seconds_ = std::max(worst_seconds_, step.seconds());
  mfu_known_ = mfu_known_ || step.has_mfu();
  mfu_seconds_ += step.mfu() * step.seconds();
}

void RunTally::resume_after(int step) {
  if (last_step_ == 0) resumed_step_ = step;
  last_step_ = step;
  begin_after(step);
}

void RunTally::begin_after(int step) {
  begin_ = std::min(begin_.value_or(step), step);
}

std::optional<double> RunTally::mean_step_seconds() const {
  if (counted_steps_ == 0) return std::nullopt;
  return counted_seconds_ / counted_steps_;
}

std::optional<double> RunTally::worst_step_seconds() const {
  if (counted_steps_ == 0) return std::nullopt;
  return worst_seconds_;
}

std::optional<double> RunTally::mfu() const {
  if (!mfu_known_ || counted_seconds_ <= 0) return std::nullopt;
  return mfu_seconds_ / counted_seconds_;
}

std::optional<double> RunTally::remaining_seconds(int steps) const {
  if (!expected_seconds_) return std::nullopt;
  return *expected_seconds_ * std::max(0, steps - last_step_);
}

}  // namespace caravan::cli
