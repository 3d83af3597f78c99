// Normally distributed numbers (worker/trainer/kernels/random_normal.h): the same as on a processor, to a
// rounding.
#pragma once

#include "worker/trainer/cuda/launch.h"

namespace caravan::cuda {

struct FillNormal {
  Storage storage;
  std::int64_t elements;
  void* values;
  std::uint64_t key;
  std::int64_t first_index;  // of the values, in the sequence of the key
  double standard_deviation;
};
CARAVAN_CUDA_API LaunchResult fill_normal(const FillNormal& arguments, Stream stream);

}  // namespace caravan::cuda
