// A step with the peak of the fullest rank alone: what a status shows, however many ranks there are.
#pragma once

#include <algorithm>

#include "caravan/v1alpha1/coordination.pb.h"

namespace caravan::agent {

inline void keep_one_peak(v1alpha1::JobStep& step) {
  auto& peaks = *step.mutable_peak_bytes_per_rank();
  if (peaks.empty()) return;
  peaks[0] = *std::max_element(peaks.begin(), peaks.end());
  peaks.Truncate(1);
}

}  // namespace caravan::agent
