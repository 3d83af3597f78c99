// Sum of squares of parts of a flat tensor, in fp64, in a fixed order. Not finite when an element is not.
#pragma once

#include <vector>

#include "worker/trainer/optim/ownership.h"

namespace caravan::trainer {

double sum_of_squares(const at::Tensor& flat, const std::vector<FlatRange>& ranges);

// Elements that are widened to fp64 at a time: all the memory that it takes.
inline constexpr int64_t kNormChunkElements = int64_t{16} * 1024;

}  // namespace caravan::trainer
