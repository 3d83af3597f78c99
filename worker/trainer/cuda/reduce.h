// Sums over a warp and over a block, the same bits in every thread and in every run. For .cu files.
#pragma once

#include "worker/trainer/cuda/device.h"

namespace caravan::cuda {

inline constexpr unsigned kAllLanes = 0xffffffff;
inline constexpr int kMaxWarps = kMaxThreads / kWarp;

template <typename T>
__device__ T warp_sum(T value) {
  for (int distance = kWarp / 2; distance > 0; distance /= 2)
    value += __shfl_xor_sync(kAllLanes, value, distance);
  return value;
}

// For a block of whole warps; `scratch` is shared memory for kMaxWarps values.
template <typename T>
__device__ T block_sum(T value, T* scratch) {
  const unsigned lane = threadIdx.x % kWarp;
  const unsigned warp = threadIdx.x / kWarp;
  value = warp_sum(value);
  __syncthreads();  // scratch may still be read by an earlier sum
  if (lane == 0) scratch[warp] = value;
  __syncthreads();
  return warp_sum(lane < blockDim.x / kWarp ? scratch[lane] : T{0});
}

}  // namespace caravan::cuda
