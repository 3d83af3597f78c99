// Attention as its formula says it, in products and a softmax of LibTorch, in fp32 (fp64 for fp64): all
// scores of a sequence and head exist at once. It needs 2 · S² · heads numbers for a moment, knows segments,
// and runs on every device. What the faster ones of a GPU are held against, and what stands in for them where
// they do not serve.
#pragma once

#include "worker/trainer/kernels/attention.h"

namespace caravan::kernels::gpu {

AttentionResult plain_attention_forward(const at::Tensor& qkv_TE, const AttentionHistory& history,
                                        const AttentionShape& shape);
void plain_attention_backward(at::Tensor& qkv_TE, const at::Tensor& doutput_TA, const AttentionResult& result,
                              const at::Tensor& by_later_TC, AttentionHistory& history,
                              const AttentionShape& shape);

// Writes the gradients by the queries, keys and values of these rows to their places; each with dimensions
// sequence, head, token, head_dim, of any type. Keys and values get what later segments have made, too.
void put_gradients(at::Tensor& qkv_TE, const at::Tensor& by_queries, const at::Tensor& by_keys,
                   const at::Tensor& by_values, const at::Tensor& by_later_TC, const AttentionShape& shape);

// Of the gradient by the keys (which: 0) or the values (1) of all segments up to the one at work, adds what
// is for those before to their sums, in fp32; returns the rest.
at::Tensor hand_back(const at::Tensor& by_all_BGLK, int64_t which, AttentionHistory& history,
                     const AttentionShape& shape);

// Views of rows with these dimensions: `count` heads from `first` on.
at::Tensor heads_of(const at::Tensor& rows, int64_t first, int64_t count, const AttentionShape& shape);

}  // namespace caravan::kernels::gpu
