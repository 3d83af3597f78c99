// Makes one JobStep of the job out of the step reports of its ranks: the loss of the stage with the head, the
// time of the slowest rank, the FLOPs of all, the peak memory of each, the mean of their phases.
//
// A step is whole when every rank has reported it. Pure; holds at most kMaxOpenSteps unfinished steps.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "caravan/v1alpha1/coordination.pb.h"

namespace caravan::agent {

// NaN where they were not finite; the loss is that of a rank with the head.
double loss_of(const v1alpha1::StepReport& report);
double gradient_norm_of(const v1alpha1::StepReport& report);

struct WholeStep {
  v1alpha1::JobStep job;
  std::vector<double> work_seconds;  // of each rank
};

class StepAggregator {
 public:
  static constexpr std::size_t kMaxOpenSteps = 64;

  // peak_flops: of one device; absent where unknown, and then there is no MFU.
  StepAggregator(int world_size, std::optional<double> peak_flops)
      : world_size_(world_size), peak_flops_(peak_flops) {}

  // The whole step, when this was its last missing report.
  std::optional<WholeStep> add(int attempt, int rank, const v1alpha1::StepReport& report);
  void reset() { open_.clear(); }

 private:
  struct OpenStep {
    WholeStep whole;
    std::vector<bool> seen;
    int missing = 0;
    bool all_tell_phases = true;
    int loss_rank = -1;
  };
  OpenStep& open(int attempt, int step);
  WholeStep finish(OpenStep& step) const;

  int world_size_;
  std::optional<double> peak_flops_;
  std::map<int, OpenStep> open_;  // by step
};

}  // namespace caravan::agent
