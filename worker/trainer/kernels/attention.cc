#include "worker/trainer/kernels/attention.h"

#include <ATen/ops/_scaled_dot_product_flash_attention_for_cpu.h>
#include <ATen/ops/_scaled_dot_product_flash_attention_for_cpu_backward.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/sum.h>

#include <vector>

#include "worker/trainer/memory/ledger.h"

// S sequence, G key-value heads, R query heads that share one of them, K head size.
// LibTorch's kernel wants as many key heads as query heads. R takes the place of its batch, and keys and
// values are expanded over it without a copy.

namespace caravan::kernels {
namespace {

constexpr double kNoDropout = 0;
constexpr bool kCausal = true;

struct HeadViews {
  at::Tensor q_RGSK;
  at::Tensor k_GSK;
  at::Tensor v_GSK;
};

at::Tensor sequence_rows(const at::Tensor& rows, int64_t sequence, const AttentionShape& shape) {
  return rows.narrow(0, sequence * shape.sequence_length, shape.sequence_length);
}

at::Tensor by_group(const at::Tensor& rows_SA, const AttentionShape& shape) {
  return rows_SA.view({shape.sequence_length, shape.kv_heads, shape.heads / shape.kv_heads, shape.head_dim})
      .permute({2, 1, 0, 3});
}

HeadViews head_views(const at::Tensor& qkv_SE, const AttentionShape& shape) {
  const int64_t query_columns = shape.heads * shape.head_dim;
  const int64_t kv_columns = shape.kv_heads * shape.head_dim;
  const auto keys = [&](int64_t begin) {
    return qkv_SE.narrow(1, begin, kv_columns)
        .view({shape.sequence_length, shape.kv_heads, shape.head_dim})
        .transpose(0, 1);
  };
  return {.q_RGSK = by_group(qkv_SE.narrow(1, 0, query_columns), shape),
          .k_GSK = keys(query_columns),
          .v_GSK = keys(query_columns + kv_columns)};
}

at::Tensor for_each_query(const at::Tensor& x_GSK, const at::Tensor& q_RGSK) {
  return x_GSK.unsqueeze(0).expand({q_RGSK.size(0), -1, -1, -1});
}

// One sequence is the usual case, and needs no copy.
at::Tensor stack_sequences(const std::vector<at::Tensor>& sequences) {
  return sequences.size() == 1 ? sequences[0].unsqueeze(0) : at::stack(sequences);
}

}  // namespace

AttentionResult attention_forward(const at::Tensor& qkv_TE, const AttentionShape& shape) {
  std::vector<at::Tensor> outputs;
  std::vector<at::Tensor> log_sums;
  for (int64_t sequence = 0; sequence < shape.sequences; ++sequence) {
    const auto [q, k, v] = head_views(sequence_rows(qkv_TE, sequence, shape), shape);
    trainer::LibraryScratch scratch;
    auto [output_RGSK, log_sums_RGS] = at::_scaled_dot_product_flash_attention_for_cpu(
        q, for_each_query(k, q), for_each_query(v, q), kNoDropout, kCausal);
    scratch.keep(output_RGSK);
    scratch.keep(log_sums_RGS);
    outputs.push_back(output_RGSK.permute({2, 1, 0, 3}));
    log_sums.push_back(std::move(log_sums_RGS));
  }
  return {.output_TA = stack_sequences(outputs).view({qkv_TE.size(0), shape.heads * shape.head_dim}),
          .log_sums = stack_sequences(log_sums)};
}

void attention_backward(at::Tensor& qkv_TE, const at::Tensor& doutput_TA, const AttentionResult& result,
                        const AttentionShape& shape) {
  const trainer::ChargeAs charge(trainer::MemoryUse::Workspace);
  for (int64_t sequence = 0; sequence < shape.sequences; ++sequence) {
    auto [q, k, v] = head_views(sequence_rows(qkv_TE, sequence, shape), shape);
    trainer::LibraryScratch scratch;
    const auto [dq_RGSK, dk_RGSK, dv_RGSK] = at::_scaled_dot_product_flash_attention_for_cpu_backward(
        by_group(sequence_rows(doutput_TA, sequence, shape), shape), q, for_each_query(k, q),
        for_each_query(v, q), by_group(sequence_rows(result.output_TA, sequence, shape), shape),
        result.log_sums[sequence], kNoDropout, kCausal);
    for (const at::Tensor& gradient : {dq_RGSK, dk_RGSK, dv_RGSK}) scratch.keep(gradient);
    q.copy_(dq_RGSK);
    at::sum_out(k, dk_RGSK, 0);
    at::sum_out(v, dv_RGSK, 0);
  }
}

}  // namespace caravan::kernels
