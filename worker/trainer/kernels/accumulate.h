// Adds a tensor of storage type to one of the type that sums are kept in, without a widened copy. Both
// contiguous.
#pragma once

#include <ATen/core/Tensor.h>

namespace caravan::kernels {

void accumulate(at::Tensor& sum, const at::Tensor& term);

}  // namespace caravan::kernels
