// Sum of squares of parts of a flat tensor, in fp64, in a fixed order: one number on the device. Not finite
// when an element is not.
#pragma once

#include <vector>

#include "worker/trainer/optim/ownership.h"

namespace caravan::trainer {

at::Tensor sum_of_squares(const at::Tensor& flat, const std::vector<FlatRange>& ranges);

}  // namespace caravan::trainer
