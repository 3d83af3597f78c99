// Causal attention with grouped queries, forward and backward, never holding all scores (FlashAttention,
// arXiv 2205.14135).
//
// Query, key and value heads of a token lie side by side in one row: H query heads, then G key heads, then G
// value heads, of K elements each; query head h uses key head h / (H / G). Rows are sequences of the same
// length, one after the other, or the same segment of each: then a token also attends to all of the segments
// before. Softmax and its statistics are fp32 (fp64 for fp64).
#pragma once

#include <ATen/core/Tensor.h>

#include "worker/trainer/kernels/attention_history.h"

namespace caravan::kernels {

struct AttentionShape {
  int64_t sequences = 0;
  int64_t heads = 0;
  int64_t kv_heads = 0;
  int64_t head_dim = 0;
};

struct AttentionResult {
  at::Tensor output_TA;  // A = H · K
  at::Tensor log_sums;   // of the exponentials of each token's scores, by query head: T · H elements
};

AttentionResult attention_forward(const at::Tensor& qkv_TE, const AttentionHistory& history,
                                  const AttentionShape& shape);

// Keys and values of these rows, for the segments behind them: a part of qkv_TE, not a copy.
at::Tensor keys_and_values(const at::Tensor& qkv_TE, const AttentionShape& shape);

// Replaces queries, keys and values by their gradients. by_later_TC: the gradient by these keys and values
// that the segments behind have made, or undefined. Adds to the gradients of the segments before.
void attention_backward(at::Tensor& qkv_TE, const at::Tensor& doutput_TA, const AttentionResult& result,
                        const at::Tensor& by_later_TC, AttentionHistory& history,
                        const AttentionShape& shape);

}  // namespace caravan::kernels
