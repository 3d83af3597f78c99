// The global norm of gradients without waiting for the device: sums of squares in fp64, and the factor that
// clips, which adamw reads from device memory. Sums depend on the number of values and their alignment only,
// not on the device.
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

struct ClipFactor {
  const double* squared_norm;
  double limit;   // of the norm; 0: none
  double scale;   // of the gradients before, such as one by the number of tokens; the norm counts it
  float* factor;  // scale, times limit / norm where the norm is larger; not finite when the norm is not
};
CARAVAN_CUDA_API LaunchResult clip_factor(const ClipFactor& arguments, Stream stream);

}  // namespace caravan::cuda
