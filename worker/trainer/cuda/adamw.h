// AdamW (Loshchilov and Hutter, arXiv 1711.05101) over a part of the flat buffers in one pass: clips,
// updates, rounds the weights into their bf16 copy, and leaves the gradients zero for the next step.
//
// Moments are fp32, or bf16 rounded at random (worker/trainer/kernels/adamw.h), with the same random numbers
// as on a processor.
#pragma once

#include "worker/trainer/cuda/launch.h"
#include "worker/trainer/kernels/element_numbers.h"

namespace caravan::cuda {

struct AdamW {
  std::int64_t elements;
  float* weights;
  float* gradients;  // become zero
  Storage moments;
  void* first_moment;
  void* second_moment;
  void* bf16_weights;    // the weights rounded to the nearest; nullptr: none
  float gradient_scale;  // not finite: the step is left out, and gradients become zero
  double learning_rate, beta1, beta2, epsilon, weight_decay;
  std::int64_t step;           // from 1
  std::uint64_t rounding_key;  // of the tensor
  kernels::ElementNumbers numbers;
};
CARAVAN_CUDA_API LaunchResult adamw(const AdamW& arguments, Stream stream);

// The values become what adamw() makes of the weights, rounded to what they are stored in; nothing else
// changes. values: not the weights.
CARAVAN_CUDA_API LaunchResult adamw_values(const AdamW& arguments, Storage storage, void* values,
                                           Stream stream);

}  // namespace caravan::cuda
