// Elementwise passes between storage types: copies, and the sums that gradients are accumulated in.
#pragma once

#include "worker/trainer/cuda/launch.h"

namespace caravan::cuda {

struct Convert {
  std::int64_t elements;
  Storage from_storage;
  const void* from;
  Storage to_storage;
  void* to;  // rounded to the nearest
};
CARAVAN_CUDA_API LaunchResult convert(const Convert& arguments, Stream stream);

struct Accumulate {
  std::int64_t elements;
  Storage storage;
  const void* term;
  float* sum;  // added to
};
CARAVAN_CUDA_API LaunchResult accumulate(const Accumulate& arguments, Stream stream);

}  // namespace caravan::cuda
