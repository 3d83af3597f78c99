// How fast a job is, as its latest step tells: that step alone may have been a long one, with an evaluation
// or a wait for a checkpoint. An agent of an earlier version tells of that step alone.
#pragma once

#include "caravan/v1alpha1/coordination.pb.h"

namespace caravan {

// Of each step that is still to come.
inline double expected_seconds(const v1alpha1::JobStep& step) {
  return step.has_mean_seconds() ? step.mean_seconds() : step.seconds();
}

// Of a usual step, where `own` is this one's.
inline double usual_rate(double own, const v1alpha1::JobStep& step) {
  return step.usual_seconds() > 0 ? own * step.seconds() / step.usual_seconds() : own;
}
inline double usual_tokens_per_second(const v1alpha1::JobStep& step) {
  return usual_rate(step.tokens_per_second(), step);
}
inline double usual_mfu(const v1alpha1::JobStep& step) {
  return usual_rate(step.mfu(), step);
}

}  // namespace caravan
