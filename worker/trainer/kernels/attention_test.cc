#include "worker/trainer/kernels/attention.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace caravan::kernels {

void PrintTo(const AttentionShape& shape, std::ostream* out) {
  *out << "Sequences" << shape.sequences << "Length" << shape.sequence_length << "Heads" << shape.heads
       << "KvHeads" << shape.kv_heads << "HeadDim" << shape.head_dim;
}

namespace {

// All scores at once, one key head per query head.
at::Tensor plain_attention(const at::Tensor& qkv_TE, const AttentionShape& shape) {
  const auto heads = [&](int64_t first_head, int64_t count) {
    return qkv_TE.narrow(1, first_head * shape.head_dim, count * shape.head_dim)
        .view({shape.sequences, shape.sequence_length, count, shape.head_dim})
        .transpose(1, 2);
  };
  const int64_t shared_by = shape.heads / shape.kv_heads;
  const at::Tensor q = heads(0, shape.heads);
  const at::Tensor k = heads(shape.heads, shape.kv_heads).repeat_interleave(shared_by, 1);
  const at::Tensor v = heads(shape.heads + shape.kv_heads, shape.kv_heads).repeat_interleave(shared_by, 1);
  const at::Tensor future = at::ones({shape.sequence_length, shape.sequence_length}, at::kBool).triu(1);
  const at::Tensor scores =
      at::matmul(q, k.transpose(-1, -2)) / std::sqrt(static_cast<double>(shape.head_dim));
  const at::Tensor weights = scores.masked_fill(future, -std::numeric_limits<double>::infinity()).softmax(-1);
  return at::matmul(weights, v).transpose(1, 2).reshape({qkv_TE.size(0), shape.heads * shape.head_dim});
}

class Attention : public testing::TestWithParam<AttentionShape> {
 protected:
  static at::Tensor random_qkv(const AttentionShape& shape) {
    return at::randn(
        {shape.sequences * shape.sequence_length, (shape.heads + 2 * shape.kv_heads) * shape.head_dim},
        at::kDouble);
  }
};

TEST_P(Attention, EqualsPlainAttentionAndItsAutograd) {
  const AttentionShape& shape = GetParam();
  const at::Tensor oracle_qkv = random_qkv(shape).requires_grad_();
  const at::Tensor oracle = plain_attention(oracle_qkv, shape);
  const at::Tensor doutput = at::randn_like(oracle);
  oracle.backward(doutput);

  at::Tensor qkv = oracle_qkv.detach().clone();
  const AttentionResult result = attention_forward(qkv, shape);
  EXPECT_TRUE(at::allclose(result.output_TA, oracle, 1e-10, 1e-12));
  attention_backward(qkv, doutput, result, shape);
  EXPECT_TRUE(at::allclose(qkv, oracle_qkv.grad(), 1e-10, 1e-12));
}

TEST_P(Attention, ATokenNeverSeesTheFuture) {
  const AttentionShape& shape = GetParam();
  const at::Tensor qkv = random_qkv(shape);
  at::Tensor changed = qkv.clone();
  changed[shape.sequence_length - 1].add_(1);
  const at::Tensor before = attention_forward(qkv, shape).output_TA;
  const at::Tensor after = attention_forward(changed, shape).output_TA;
  const int64_t unaffected = shape.sequence_length - 1;
  EXPECT_TRUE(at::equal(before.narrow(0, 0, unaffected), after.narrow(0, 0, unaffected)));
  EXPECT_FALSE(at::equal(before[unaffected], after[unaffected]));
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, Attention,
    testing::Values(
        AttentionShape{.sequences = 1, .sequence_length = 40, .heads = 3, .kv_heads = 3, .head_dim = 8},
        AttentionShape{.sequences = 1, .sequence_length = 40, .heads = 6, .kv_heads = 2, .head_dim = 8},
        AttentionShape{.sequences = 3, .sequence_length = 17, .heads = 4, .kv_heads = 1, .head_dim = 6},
        AttentionShape{.sequences = 2, .sequence_length = 210, .heads = 2, .kv_heads = 2, .head_dim = 4},
        AttentionShape{.sequences = 1, .sequence_length = 1, .heads = 2, .kv_heads = 1, .head_dim = 4}),
    testing::PrintToStringParamName());

}  // namespace
}  // namespace caravan::kernels
