// Whether sums of gradients and gathers of values go on while ranks compute: the same for all ranks of a job.
//
// On devices, whose lanes cost the stream that computes nothing, they do. Where processors move the bytes
// they do not, but for CARAVAN_OVERLAP=on: a thread for it takes turns with those that compute.
// CARAVAN_OVERLAP=off has nothing go on anywhere, to compare with.
#pragma once

#include "common/result.h"

namespace caravan::trainer {

// Of the environment, or `otherwise` where that has none or an empty one. Another value than on and off is
// bad input.
Result<bool> wants_overlap(bool otherwise);

}  // namespace caravan::trainer
