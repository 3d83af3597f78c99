// What every function of this room takes and returns. The kernels of Caravan for CUDA devices lie in
// libcaravan_cuda.so behind these functions: plain structs of shapes and device pointers in, no LibTorch, no
// headers of CUDA. All arrays are dense, row after row. A launch is asynchronous on its stream and never
// waits.
#pragma once

#include <cstdint>

struct CUstream_st;

#define CARAVAN_CUDA_API __attribute__((visibility("default")))

namespace caravan::cuda {

using Stream = CUstream_st*;  // CUDA's cudaStream_t; nullptr is the default stream

// Of weights, activations and states. Sums and statistics are fp32 or wider whatever is stored.
enum class Storage : std::int32_t { Float32, BFloat16 };

struct [[nodiscard]] LaunchResult {
  const char* error = nullptr;  // a sentence that lives as long as the library, in CUDA's words or ours

  bool ok() const { return error == nullptr; }
};

}  // namespace caravan::cuda
