// AdamW (Loshchilov and Hutter, arXiv 1711.05101) over a run of elements in one pass over memory.
//
// Weights and moments are fp32 (fp64 for fp64), or moments bf16 rounded at random: a change too small for
// bf16 then moves the moment by a whole step as often as it takes to be right on average. The random numbers
// depend on the tensor, the step and an element's number in the whole tensor only (Philox), so the bits are
// the same in every layout. All tensors are flat and of the same length.
#pragma once

#include <ATen/core/Tensor.h>

#include "worker/trainer/kernels/element_numbers.h"

namespace caravan::kernels {

struct AdamW {
  double learning_rate = 0;
  double beta1 = 0;
  double beta2 = 0;
  double epsilon = 0;
  double weight_decay = 0;
  int64_t step = 1;           // from 1
  double gradient_scale = 1;  // gradients count so many times
  // Where moments are rounded: of the tensor that the elements are of, and which of its elements they are.
  uint64_t rounding_key = 0;
  ElementNumbers numbers = {};
};

struct AdamWTensors {
  at::Tensor weights;
  at::Tensor gradients;
  at::Tensor first_moment;
  at::Tensor second_moment;
  at::Tensor values;  // what the weights are in storage type: the weights themselves, or a tensor of its own
};

// Leaves the gradients zero.
void adamw(const AdamWTensors& tensors, const AdamW& update);

// The values become what adamw() makes of them, to the bit; nothing else changes. values: not the weights.
void adamw_values(const AdamWTensors& tensors, const AdamW& update);

}  // namespace caravan::kernels
