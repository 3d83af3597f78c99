// The GPU of tests, chosen by what is linked: the device of this machine behind the library for GPUs, or the
// table that GPUs have on tensors of the host, around emulated kernels, with attention by its formula and
// products of the CPU in the place of the libraries'. Emulated, one launch at a time in a process, so for one
// thread.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>

#include "worker/trainer/kernels/kernel_table.h"

namespace caravan::kernels::gpu {

// What the device's attention was chosen for; a sequence may have any length.
inline constexpr AttentionShape kTestedAttention{.sequences = 1, .heads = 4, .kv_heads = 2, .head_dim = 64};

struct TestedGpu {
  at::Device device;
  const KernelTable* kernels;
  std::string missing;  // why there is none, and no kernels
};

// storage: of the tensors.
const TestedGpu& tested_gpu(at::ScalarType storage);

// For names of tests: "EmulatedGpu" or "Gpu".
extern const char* const kTestedGpu;

}  // namespace caravan::kernels::gpu
