// The global norm of gradients without waiting for the device: sums of squares in fp64, which depend on the
// number of values and their alignment only, not on the device.
#pragma once

#include "worker/trainer/cuda/launch.h"

namespace caravan::cuda {

inline constexpr std::int64_t kSquaredNormParts = 1024;

struct SquaredNorm {
  std::int64_t elements;
  const float* values;  // [elements]
  double* partial;      // [kSquaredNormParts], for the moment
  double* sum;          // added to; not finite when a value is not
};
CARAVAN_CUDA_API LaunchResult squared_norm(const SquaredNorm& arguments, Stream stream);

}  // namespace caravan::cuda
