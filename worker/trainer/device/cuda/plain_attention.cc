// B sequences, S tokens of a segment, L of it and those before, G key heads, R query heads that share one,
// H = G · R, K head dim
#include "worker/trainer/device/cuda/plain_attention.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/exp.h>
#include <ATen/ops/logsumexp.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/ones.h>

#include <cmath>
#include <limits>
#include <vector>

#include "worker/trainer/device/cuda/own_kernels.h"
#include "worker/trainer/kernels/storage_type.h"

namespace caravan::kernels::gpu {
namespace {

struct Operands {
  at::Tensor q_BGRSK;
  at::Tensor k_BGLK;
  at::Tensor v_BGLK;
};

at::Tensor widened(const at::Tensor& heads) {
  return heads.to(wide_type(heads.scalar_type()));
}

// Query heads that share keys stand together, as rows of one matrix.
at::Tensor by_key_head(const at::Tensor& rows_TA, const AttentionShape& shape) {
  const at::Tensor heads_BHSK = widened(heads_of(rows_TA, 0, shape.heads, shape));
  return heads_BHSK.reshape(
      {shape.sequences, shape.kv_heads, shape.heads / shape.kv_heads, heads_BHSK.size(2), shape.head_dim});
}

// which: 0 for keys, 1 for values.
at::Tensor of_all_segments(const at::Tensor& qkv_TE, const AttentionHistory& history, int64_t which,
                           const AttentionShape& shape) {
  std::vector<at::Tensor> parts;
  for (const at::Tensor& kv_TC : history.kv_TC)
    parts.push_back(widened(heads_of(kv_TC, which * shape.kv_heads, shape.kv_heads, shape)));
  parts.push_back(widened(heads_of(qkv_TE, shape.heads + which * shape.kv_heads, shape.kv_heads, shape)));
  return at::cat(parts, 2);
}

Operands operands_of(const at::Tensor& qkv_TE, const AttentionHistory& history, const AttentionShape& shape) {
  return {.q_BGRSK = by_key_head(qkv_TE, shape),
          .k_BGLK = of_all_segments(qkv_TE, history, 0, shape),
          .v_BGLK = of_all_segments(qkv_TE, history, 1, shape)};
}

double scale_of(const AttentionShape& shape) {
  return 1 / std::sqrt(static_cast<double>(shape.head_dim));
}

// a · b for each sequence and key head, all query heads in one product.
at::Tensor times(const at::Tensor& a_BGRSX, const at::Tensor& b_BGXY) {
  std::vector<int64_t> sizes = a_BGRSX.sizes().vec();
  const at::Tensor product = at::matmul(a_BGRSX.flatten(2, 3), b_BGXY);
  sizes.back() = b_BGXY.size(3);
  return product.view(sizes);
}

at::Tensor sum_over_queries(const at::Tensor& a_BGRSL, const at::Tensor& b_BGRSK) {
  return at::matmul(a_BGRSL.flatten(2, 3).transpose(2, 3), b_BGRSK.flatten(2, 3));
}

// One matrix alone: planner/work/layer_rows.cc counts them.
at::Tensor scores(const Operands& of, const AttentionShape& shape) {
  const int64_t queries = of.q_BGRSK.size(3), keys = of.k_BGLK.size(2);
  const at::Tensor later_SL =
      at::ones({queries, keys}, of.q_BGRSK.options().dtype(at::kBool)).triu_(keys - queries + 1);
  return times(of.q_BGRSK, of.k_BGLK.transpose(2, 3))
      .mul_(scale_of(shape))
      .masked_fill_(later_SL, -std::numeric_limits<double>::infinity());
}

}  // namespace

at::Tensor heads_of(const at::Tensor& rows, int64_t first, int64_t count, const AttentionShape& shape) {
  return rows.narrow(1, first * shape.head_dim, count * shape.head_dim)
      .view({shape.sequences, rows.size(0) / shape.sequences, count, shape.head_dim})
      .transpose(1, 2);
}

at::Tensor hand_back(const at::Tensor& by_all_BGLK, int64_t which, AttentionHistory& history,
                     const AttentionShape& shape) {
  int64_t first = 0;
  for (std::size_t i = 0; i < history.kv_TC.size(); ++i) {
    at::Tensor sum = heads_of(history.kv_gradients_TC[i], which * shape.kv_heads, shape.kv_heads, shape);
    sum.add_(by_all_BGLK.narrow(2, first, sum.size(2)));
    first += sum.size(2);
  }
  return by_all_BGLK.narrow(2, first, by_all_BGLK.size(2) - first);
}

AttentionResult plain_attention_forward(const at::Tensor& qkv_TE, const AttentionHistory& history,
                                        const AttentionShape& shape) {
  const Operands of = operands_of(qkv_TE, history, shape);
  at::Tensor scores_BGRSL = scores(of, shape);
  const at::Tensor log_sums_BGRS = at::logsumexp(scores_BGRSL, {-1});
  const at::Tensor weights_BGRSL = scores_BGRSL.sub_(log_sums_BGRS.unsqueeze(-1)).exp_();
  const at::Tensor output_BSHK = times(weights_BGRSL, of.v_BGLK).flatten(1, 2).transpose(1, 2);
  return {.output_TA =
              output_BSHK.reshape({qkv_TE.size(0), shape.heads * shape.head_dim}).to(qkv_TE.scalar_type()),
          .log_sums = log_sums_BGRS.flatten(1, 2)};
}

void put_gradients(at::Tensor& qkv_TE, const at::Tensor& by_queries, const at::Tensor& by_keys,
                   const at::Tensor& by_values, const at::Tensor& by_later_TC, const AttentionShape& shape) {
  const int64_t kv = shape.kv_heads;
  const auto put = [&](int64_t first, const at::Tensor& gradient_BHSK) {
    const bool kernel_can = gradient_BHSK.scalar_type() == qkv_TE.scalar_type() &&
                            gradient_BHSK.stride(3) == 1 && qkv_TE.scalar_type() != at::kDouble;
    if (kernel_can) return place_heads(qkv_TE, first, gradient_BHSK);
    heads_of(qkv_TE, first, gradient_BHSK.size(1), shape).copy_(gradient_BHSK);
  };
  const auto with_later = [&](const at::Tensor& gradient, int64_t which) {
    return by_later_TC.defined() ? heads_of(by_later_TC, which * kv, kv, shape) + gradient : gradient;
  };
  put(0, by_queries);
  put(shape.heads, with_later(by_keys, 0));
  put(shape.heads + kv, with_later(by_values, 1));
}

// dS = P · (dP − Σ dO · O), row by row (FlashAttention's formula, arXiv 2205.14135, appendix B.2).
void plain_attention_backward(at::Tensor& qkv_TE, const at::Tensor& doutput_TA, const AttentionResult& result,
                              const at::Tensor& by_later_TC, AttentionHistory& history,
                              const AttentionShape& shape) {
  const Operands of = operands_of(qkv_TE, history, shape);
  const at::Tensor log_sums = result.log_sums.view(of.q_BGRSK.sizes().slice(0, 4)).unsqueeze(-1);
  const at::Tensor weights_BGRSL = scores(of, shape).sub_(log_sums).exp_();
  const at::Tensor doutput_BGRSK = by_key_head(doutput_TA, shape);
  const at::Tensor dots = (doutput_BGRSK * by_key_head(result.output_TA, shape)).sum(-1, true);
  const at::Tensor by_values = sum_over_queries(weights_BGRSL, doutput_BGRSK);
  at::Tensor by_scores = times(doutput_BGRSK, of.v_BGLK.transpose(2, 3));
  by_scores.sub_(dots).mul_(weights_BGRSL).mul_(scale_of(shape));
  const at::Tensor by_queries = times(by_scores, of.k_BGLK).flatten(1, 2);
  const at::Tensor by_keys = sum_over_queries(by_scores, of.q_BGRSK);
  put_gradients(qkv_TE, by_queries, hand_back(by_keys, 0, history, shape),
                hand_back(by_values, 1, history, shape), by_later_TC, shape);
}

}  // namespace caravan::kernels::gpu
