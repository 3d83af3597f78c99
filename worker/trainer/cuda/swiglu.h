// SwiGLU forward and backward, a pass each: what worker/trainer/kernels/swiglu.h does, in fp32 and rounded
// once.
#pragma once

#include "worker/trainer/cuda/launch.h"

namespace caravan::cuda {

struct SwigluForward {
  Storage storage;
  std::int64_t rows, columns;
  const void* gate_up;  // [rows, 2 · columns]: gates, then ups
  void* output;         // [rows, columns] = silu(gate) · up
};
CARAVAN_CUDA_API LaunchResult swiglu_forward(const SwigluForward& arguments, Stream stream);

struct SwigluBackward {
  Storage storage;
  std::int64_t rows, columns;
  void* gate_up;   // [rows, 2 · columns], becomes its gradient
  void* gradient;  // [rows, columns], by the output; becomes the output
};
CARAVAN_CUDA_API LaunchResult swiglu_backward(const SwigluBackward& arguments, Stream stream);

}  // namespace caravan::cuda
