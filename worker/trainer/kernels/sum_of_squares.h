// Σ x² of an fp32 or fp64 tensor in one pass, added up in fp64 in a fixed order. Not finite when an element
// is not.
#pragma once

#include <ATen/core/Tensor.h>

namespace caravan::kernels {

double sum_of_squares(const at::Tensor& values);

}  // namespace caravan::kernels
