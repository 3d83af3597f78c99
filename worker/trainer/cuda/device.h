// The language of kernels: CUDA where nvcc compiles, the emulation elsewhere. For .cu files.
//
// Shared memory is dynamic only and belongs to the block; barriers are __syncthreads(), exchanges within a
// warp __shfl_xor_sync(). Nothing else of CUDA's synchronisation may be used, atomics least of all: each
// element of an output has one thread that writes it, so that results never depend on the order in which
// threads run.
#pragma once

#include <type_traits>

#include "worker/trainer/cuda/grid.h"
#include "worker/trainer/cuda/launch.h"

#ifdef __CUDACC__

#include <cuda_bf16.h>

namespace caravan::cuda {

template <typename T>
__device__ T* shared_memory() {
  extern __shared__ __align__(16) unsigned char caravan_shared_memory[];
  return reinterpret_cast<T*>(caravan_shared_memory);
}

// Nothing is launched, and nothing is wrong, where there are no blocks.
template <typename... Parameters>
LaunchResult launch(void (*kernel)(Parameters...), const Grid& grid, Stream stream,
                    std::type_identity_t<Parameters>... arguments) {
  constexpr std::size_t kWithoutAsking = 48 * 1024;
  if (grid.blocks == 0) return {};
  if (grid.blocks > kMaxBlocks) return {kTooManyRows};
  if (grid.shared_bytes > kWithoutAsking) {
    const cudaError_t refused = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                                     static_cast<int>(grid.shared_bytes));
    if (refused != cudaSuccess) {
      (void)cudaGetLastError();  // it was this one: the next launch is not to blame
      return {refused == cudaErrorInvalidValue ? kTooLongRows : cudaGetErrorString(refused)};
    }
  }
  kernel<<<static_cast<unsigned>(grid.blocks), grid.threads, grid.shared_bytes, stream>>>(arguments...);
  const cudaError_t error = cudaGetLastError();
  return {error == cudaSuccess ? nullptr : cudaGetErrorString(error)};
}

}  // namespace caravan::cuda

#else
#include "worker/trainer/cuda/emulation/dialect.h"
#endif

namespace caravan::cuda {

using bf16 = __nv_bfloat16;

// Calls body.operator()<T>() with the type of the stored values.
template <typename Body>
LaunchResult for_storage(Storage storage, Body body) {
  switch (storage) {
    case Storage::Float32:
      return body.template operator()<float>();
    case Storage::BFloat16:
      return body.template operator()<bf16>();
  }
  return {"values are stored as fp32 or bf16"};
}

}  // namespace caravan::cuda
