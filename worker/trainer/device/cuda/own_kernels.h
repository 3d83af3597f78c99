// The kernels of worker/trainer/cuda as entries of a table of kernels: tensors in, plain structs and the
// current stream out. They know no device, so that on tensors of the host they run with the emulation.
//
// fp32 and bf16; c10::Error for other types, for tensors that are not dense, and for what a launch refuses.
#pragma once

#include "worker/trainer/kernels/kernel_table.h"

namespace caravan::kernels::gpu {

// What is not in worker/trainer/cuda, products and attention, is null.
KernelTable own_kernels(const char* name);

}  // namespace caravan::kernels::gpu
