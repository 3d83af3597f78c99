// The kernels of worker/trainer/cuda as entries of a table of kernels: tensors in, plain structs and the
// current stream out. They know no device, so that on tensors of the host they run with the emulation.
//
// fp32 and bf16; c10::Error for other types, for tensors that are not dense, and for what a launch refuses.
#pragma once

#include "worker/trainer/kernels/kernel_table.h"

namespace caravan::kernels::gpu {

// What is not in worker/trainer/cuda, products, attention and memory of the host, is null.
KernelTable own_kernels(const char* name);

// Copies heads with dimensions sequence, head, token, head_dim, wherever they lie but for the last one, of
// which elements follow each other, to their places in rows: `first` is the first one's, counted in heads.
void place_heads(at::Tensor& rows_TE, int64_t first, const at::Tensor& heads_BHSK);

}  // namespace caravan::kernels::gpu
