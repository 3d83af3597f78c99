// AdamW (Loshchilov and Hutter, arXiv 1711.05101) over a part of the flat buffers in one pass: clips,
// updates, rounds the weights into their bf16 copy, and leaves the gradients zero for the next step.
//
// Moments are fp32, or bf16 rounded at random: a change too small for bf16 then moves the state by a whole
// step as often as it takes to be right on average. The random numbers depend on seed, step and an element's
// number in the whole model only (Philox), so the bits are the same in every layout.
#pragma once

#include "worker/trainer/cuda/launch.h"

namespace caravan::cuda {

struct AdamW {
  std::int64_t elements;
  float* weights;
  float* gradients;  // become zero
  Storage moments;
  void* first_moment;
  void* second_moment;
  void* bf16_weights;  // the weights rounded to the nearest; nullptr: none
  const float*
      gradient_scale;  // in device memory; not finite: the step is left out, and gradients become zero
  double learning_rate, beta1, beta2, epsilon, weight_decay;
  std::int64_t step;           // from 1
  std::uint64_t seed;          // of the rounding
  std::int64_t first_element;  // the number of the first element
};
CARAVAN_CUDA_API LaunchResult adamw(const AdamW& arguments, Stream stream);

// The values become what adamw() makes of the weights, rounded to what they are stored in; nothing else
// changes. values: not the weights.
CARAVAN_CUDA_API LaunchResult adamw_values(const AdamW& arguments, Storage storage, void* values,
                                           Stream stream);

}  // namespace caravan::cuda
