// Attention on a GPU: which of LibTorch's kernels a rank uses is decided at its start and said in its log.
#pragma once

#include <string>

#include "common/result.h"
#include "worker/trainer/kernels/kernel_table.h"

namespace caravan::kernels::gpu {

struct AttentionKernels {
  decltype(KernelTable::attention_forward) forward = nullptr;
  decltype(KernelTable::attention_backward) backward = nullptr;
  std::string description;  // which they are, and why not a faster one
};

// The one that CARAVAN_ATTENTION has tried alone before plain products, to compare: cuDNN, flash or plain;
// empty: it names none. Another value is bad input.
Result<std::string> wished_attention();

// The first that makes what plain_attention.h makes of a few random numbers on this device, forward and
// backward: cuDNN's (631 TFLOP/s on an H100), then the built-in flash kernel (329), then plain products. For
// one sequence. Segments behind the first one, whose keys are more than their queries, take flash, with a
// copy of all keys and values in one piece, or plain products where that makes something else of them.
// wish: of wished_attention().
AttentionKernels choose_attention(const std::string& wish, const AttentionShape& shape,
                                  at::ScalarType storage, at::Device device);

}  // namespace caravan::kernels::gpu
