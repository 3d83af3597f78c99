// Attention as its formula says it, to compare with.
#pragma once

#include <ATen/ATen.h>

#include <cmath>
#include <limits>

#include "worker/trainer/kernels/attention.h"

namespace caravan::kernels {

// All scores at once, one key head per query head.
inline at::Tensor plain_attention(const at::Tensor& qkv_TE, const AttentionShape& shape) {
  const int64_t length = qkv_TE.size(0) / shape.sequences;
  const auto heads = [&](int64_t first_head, int64_t count) {
    return qkv_TE.narrow(1, first_head * shape.head_dim, count * shape.head_dim)
        .view({shape.sequences, length, count, shape.head_dim})
        .transpose(1, 2);
  };
  const int64_t shared_by = shape.heads / shape.kv_heads;
  const at::Tensor q = heads(0, shape.heads);
  const at::Tensor k = heads(shape.heads, shape.kv_heads).repeat_interleave(shared_by, 1);
  const at::Tensor v = heads(shape.heads + shape.kv_heads, shape.kv_heads).repeat_interleave(shared_by, 1);
  const at::Tensor future = at::ones({length, length}, qkv_TE.options().dtype(at::kBool)).triu(1);
  const at::Tensor scores =
      at::matmul(q, k.transpose(-1, -2)) / std::sqrt(static_cast<double>(shape.head_dim));
  const at::Tensor weights = scores.masked_fill(future, -std::numeric_limits<double>::infinity()).softmax(-1);
  return at::matmul(weights, v).transpose(1, 2).reshape({qkv_TE.size(0), shape.heads * shape.head_dim});
}

}  // namespace caravan::kernels
