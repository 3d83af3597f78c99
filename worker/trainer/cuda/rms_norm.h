// Addition to the residual and root-mean-square normalisation in one pass, forward and backward: what
// worker/trainer/kernels/rms_norm.h does. Any number of columns whose fp32 values fit the shared memory of a
// block (40,000 and more).
#pragma once

#include "worker/trainer/cuda/launch.h"

namespace caravan::cuda {

struct AddRmsNorm {
  Storage storage;
  std::int64_t rows, columns;
  float epsilon;
  void* residual;      // [rows, columns], becomes residual + x
  const void* x;       // [rows, columns]; nullptr: the residual stays as it is
  const void* weight;  // [columns]
  void* output;        // [rows, columns] = residual · scale · weight
  float* scale;        // [rows] = 1 / sqrt(mean(residual²) + epsilon)
};
CARAVAN_CUDA_API LaunchResult add_rms_norm(const AddRmsNorm& arguments, Stream stream);

// The output once more, from a scale that was kept: the same bits.
struct RmsNormApply {
  Storage storage;
  std::int64_t rows, columns;
  const void* x;       // [rows, columns], the residual after the addition
  const void* weight;  // [columns]
  const float* scale;  // [rows]
  void* output;        // [rows, columns]
};
CARAVAN_CUDA_API LaunchResult rms_norm_apply(const RmsNormApply& arguments, Stream stream);

// Rows of the sums that rms_norm_backward makes first. A constant, so that sums do not depend on the device.
inline constexpr std::int64_t kRmsNormPartialRows = 256;

struct RmsNormBackward {
  Storage storage;
  std::int64_t rows, columns;
  void* gradient;                 // [rows, columns], by the output; becomes the one by x
  const void* residual_gradient;  // [rows, columns], added to it; nullptr: none
  const void* x;                  // [rows, columns]
  const void* weight;             // [columns]
  const float* scale;             // [rows]
  float* weight_gradient;         // [columns], added to
  float* partial;                 // [min(rows, kRmsNormPartialRows), columns], for the moment
};
CARAVAN_CUDA_API LaunchResult rms_norm_backward(const RmsNormBackward& arguments, Stream stream);

}  // namespace caravan::cuda
