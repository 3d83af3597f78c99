#include "worker/trainer/kernels/attention.h"

#include <ATen/Parallel.h>
#include <ATen/ops/_scaled_dot_product_flash_attention_for_cpu.h>
#include <ATen/ops/_scaled_dot_product_flash_attention_for_cpu_backward.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/sum.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "worker/trainer/kernels/storage_type.h"
#include "worker/trainer/memory/ledger.h"
#include "worker/trainer/trace/span.h"

// S tokens of a sequence or of a segment of it, G key-value heads, R query heads that share one of them, K
// head size. LibTorch's kernel wants as many key heads as query heads. R takes the place of its batch, and
// keys and values are expanded over it without a copy.
//
// Queries attend to each segment before theirs alone, and the results are put together by the sums of
// exponentials that come with them, as blocks are within the kernel (Liu et al., arXiv 2310.01889). With the
// sums over all keys the backward of each segment's keys and values stands alone.

namespace caravan::kernels {
namespace {

constexpr double kNoDropout = 0;
constexpr int64_t kRowsPerTask = 64;

enum class Mask { None, Causal };

struct Keys {
  at::Tensor k_GSK;
  at::Tensor v_GSK;
};

struct Attended {
  at::Tensor output_RGSK;
  at::Tensor log_sums_RGS;
};

struct Gradients {
  at::Tensor dq_RGSK;
  at::Tensor dk_RGSK;  // of each query head
  at::Tensor dv_RGSK;
};

at::Tensor sequence_rows(const at::Tensor& rows, int64_t sequence, const AttentionShape& shape) {
  const int64_t length = rows.size(0) / shape.sequences;
  return rows.narrow(0, sequence * length, length);
}

at::Tensor by_group(const at::Tensor& rows_SA, const AttentionShape& shape) {
  return rows_SA.view({rows_SA.size(0), shape.kv_heads, shape.heads / shape.kv_heads, shape.head_dim})
      .permute({2, 1, 0, 3});
}

at::Tensor queries(const at::Tensor& qkv_SE, const AttentionShape& shape) {
  return by_group(qkv_SE.narrow(1, 0, shape.heads * shape.head_dim), shape);
}

Keys keys(const at::Tensor& kv_SC, const AttentionShape& shape) {
  const int64_t columns = shape.kv_heads * shape.head_dim;
  const auto heads = [&](int64_t begin) {
    return kv_SC.narrow(1, begin, columns)
        .view({kv_SC.size(0), shape.kv_heads, shape.head_dim})
        .transpose(0, 1);
  };
  return {.k_GSK = heads(0), .v_GSK = heads(columns)};
}

at::Tensor for_each_query(const at::Tensor& x_GSK, const at::Tensor& q_RGSK) {
  return x_GSK.unsqueeze(0).expand({q_RGSK.size(0), -1, -1, -1});
}

Attended attend(const at::Tensor& q_RGSK, const Keys& to, Mask mask) {
  trainer::LibraryScratch scratch;
  auto [output_RGSK, log_sums_RGS] = at::_scaled_dot_product_flash_attention_for_cpu(
      q_RGSK, for_each_query(to.k_GSK, q_RGSK), for_each_query(to.v_GSK, q_RGSK), kNoDropout,
      mask == Mask::Causal);
  scratch.keep(output_RGSK);
  scratch.keep(log_sums_RGS);
  return {.output_RGSK = std::move(output_RGSK), .log_sums_RGS = std::move(log_sums_RGS)};
}

// by: what all keys together gave, and the gradient by it.
Gradients attend_backward(const at::Tensor& q_RGSK, const Keys& to, Mask mask, const Attended& by,
                          const at::Tensor& doutput_RGSK) {
  trainer::LibraryScratch scratch;
  auto [dq_RGSK, dk_RGSK, dv_RGSK] = at::_scaled_dot_product_flash_attention_for_cpu_backward(
      doutput_RGSK, q_RGSK, for_each_query(to.k_GSK, q_RGSK), for_each_query(to.v_GSK, q_RGSK),
      by.output_RGSK, by.log_sums_RGS, kNoDropout, mask == Mask::Causal);
  for (const at::Tensor& gradient : {dq_RGSK, dk_RGSK, dv_RGSK}) scratch.keep(gradient);
  return {.dq_RGSK = std::move(dq_RGSK), .dk_RGSK = std::move(dk_RGSK), .dv_RGSK = std::move(dv_RGSK)};
}

// From what the same queries took of two sets of keys to what they take of both, into the first.
template <typename T>
void put_together(Attended& all, const Attended& others) {
  using W = Wide<T>;
  auto output = all.output_RGSK.accessor<T, 4>();
  const auto other_output = others.output_RGSK.accessor<T, 4>();
  auto log_sums = all.log_sums_RGS.accessor<W, 3>();
  const auto other_log_sums = others.log_sums_RGS.accessor<W, 3>();
  const int64_t groups = output.size(1);
  const int64_t tokens = output.size(2);
  at::parallel_for(0, output.size(0) * groups * tokens, kRowsPerTask, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const int64_t r = row / (groups * tokens);
      const int64_t g = row / tokens % groups;
      const int64_t s = row % tokens;
      const W mine = log_sums[r][g][s];
      const W theirs = other_log_sums[r][g][s];
      const W both = std::max(mine, theirs) + std::log1p(std::exp(-std::abs(mine - theirs)));
      const W my_part = std::exp(mine - both);
      const W their_part = std::exp(theirs - both);
      for (int64_t k = 0; k < output.size(3); ++k) {
        output[r][g][s][k] = static_cast<T>(my_part * static_cast<W>(output[r][g][s][k]) +
                                            their_part * static_cast<W>(other_output[r][g][s][k]));
      }
      log_sums[r][g][s] = both;
    }
  });
}

// Adds those of all query heads that share a key head, without a temporary tensor.
template <typename T>
void add_heads(const at::Tensor& sum_GSK, const at::Tensor& more_RGSK) {
  auto sum = sum_GSK.accessor<Wide<T>, 3>();
  const auto more = more_RGSK.accessor<T, 4>();
  const int64_t tokens = sum.size(1);
  at::parallel_for(0, sum.size(0) * tokens, kRowsPerTask, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const int64_t g = row / tokens;
      const int64_t s = row % tokens;
      for (int64_t r = 0; r < more.size(0); ++r) {
        for (int64_t k = 0; k < sum.size(2); ++k) sum[g][s][k] += static_cast<Wide<T>>(more[r][g][s][k]);
      }
    }
  });
}

void add_gradients(const at::Tensor& sum_SC, const Gradients& more, const AttentionShape& shape) {
  const Keys sums = keys(sum_SC, shape);
  for_storage_type(more.dk_RGSK.scalar_type(), [&]<typename T>() {
    add_heads<T>(sums.k_GSK, more.dk_RGSK);
    add_heads<T>(sums.v_GSK, more.dv_RGSK);
  });
}

// One sequence is the usual case, and needs no copy.
at::Tensor stack_sequences(const std::vector<at::Tensor>& sequences) {
  return sequences.size() == 1 ? sequences[0].unsqueeze(0) : at::stack(sequences);
}

}  // namespace

at::Tensor keys_and_values(const at::Tensor& qkv_TE, const AttentionShape& shape) {
  return qkv_TE.narrow(1, shape.heads * shape.head_dim, 2 * shape.kv_heads * shape.head_dim);
}

AttentionResult attention_forward(const at::Tensor& qkv_TE, const AttentionHistory& history,
                                  const AttentionShape& shape) {
  const trainer::TraceSpan span(trainer::SpanKind::Attention, "attention");
  std::vector<at::Tensor> outputs;
  std::vector<at::Tensor> log_sums;
  for (int64_t sequence = 0; sequence < shape.sequences; ++sequence) {
    const at::Tensor qkv_SE = sequence_rows(qkv_TE, sequence, shape);
    const at::Tensor q_RGSK = queries(qkv_SE, shape);
    Attended attended = attend(q_RGSK, keys(keys_and_values(qkv_SE, shape), shape), Mask::Causal);
    for (const at::Tensor& kv_TC : history.kv_TC) {
      const Attended earlier = attend(q_RGSK, keys(sequence_rows(kv_TC, sequence, shape), shape), Mask::None);
      for_storage_type(qkv_TE.scalar_type(), [&]<typename T>() { put_together<T>(attended, earlier); });
    }
    outputs.push_back(attended.output_RGSK.permute({2, 1, 0, 3}));
    log_sums.push_back(std::move(attended.log_sums_RGS));
  }
  return {.output_TA = stack_sequences(outputs).view({qkv_TE.size(0), shape.heads * shape.head_dim}),
          .log_sums = stack_sequences(log_sums)};
}

void attention_backward(at::Tensor& qkv_TE, const at::Tensor& doutput_TA, const AttentionResult& result,
                        const at::Tensor& by_later_TC, AttentionHistory& history,
                        const AttentionShape& shape) {
  const trainer::TraceSpan span(trainer::SpanKind::Attention, "attention_backward");
  const trainer::ChargeAs charge(trainer::MemoryUse::Workspace);
  for (int64_t sequence = 0; sequence < shape.sequences; ++sequence) {
    const at::Tensor qkv_SE = sequence_rows(qkv_TE, sequence, shape);
    const at::Tensor q_RGSK = queries(qkv_SE, shape);
    const at::Tensor kv_SC = keys_and_values(qkv_SE, shape);
    const at::Tensor doutput_RGSK = by_group(sequence_rows(doutput_TA, sequence, shape), shape);
    const Attended by{.output_RGSK = by_group(sequence_rows(result.output_TA, sequence, shape), shape),
                      .log_sums_RGS = result.log_sums[sequence]};

    Gradients own = attend_backward(q_RGSK, keys(kv_SC, shape), Mask::Causal, by, doutput_RGSK);
    if (by_later_TC.defined()) {
      const at::Tensor sum_SC = sequence_rows(by_later_TC, sequence, shape);
      add_gradients(sum_SC, own, shape);
      kv_SC.copy_(sum_SC);
    } else {
      Keys gradients = keys(kv_SC, shape);
      at::sum_out(gradients.k_GSK, own.dk_RGSK, 0);
      at::sum_out(gradients.v_GSK, own.dv_RGSK, 0);
    }
    own.dk_RGSK.reset();
    own.dv_RGSK.reset();
    for (std::size_t i = 0; i < history.kv_TC.size(); ++i) {
      const Keys earlier = keys(sequence_rows(history.kv_TC[i], sequence, shape), shape);
      const Gradients more = attend_backward(q_RGSK, earlier, Mask::None, by, doutput_RGSK);
      own.dq_RGSK.add_(more.dq_RGSK);
      add_gradients(sequence_rows(history.kv_gradients_TC[i], sequence, shape), more, shape);
    }
    q_RGSK.copy_(own.dq_RGSK);
  }
}

}  // namespace caravan::kernels
