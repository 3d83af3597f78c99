// Σ x² of an fp32 or fp64 tensor in one pass, added up in fp64 in a fixed order. Not finite when an element
// is not. `sum`: one fp64 number where the values lie, which it is added to.
#pragma once

#include <ATen/core/Tensor.h>

namespace caravan::kernels {

void add_sum_of_squares(const at::Tensor& values, at::Tensor& sum);

}  // namespace caravan::kernels
