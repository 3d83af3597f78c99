#include "worker/trainer/kernels/attention.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "worker/trainer/kernels/testing/plain_attention.h"

namespace caravan::kernels {

namespace {

struct Case {
  AttentionShape shape;
  std::vector<int64_t> segments;  // tokens of each; one: sequences are whole

  int64_t length() const { return std::accumulate(segments.begin(), segments.end(), int64_t{0}); }
};

void PrintTo(const Case& each, std::ostream* out) {
  *out << "Sequences" << each.shape.sequences << "Length" << each.length() << "Heads" << each.shape.heads
       << "KvHeads" << each.shape.kv_heads << "HeadDim" << each.shape.head_dim << "Segments"
       << each.segments.size();
}

// A segment of each sequence, in rows of its own.
at::Tensor rows_of(const at::Tensor& rows, const AttentionShape& shape, int64_t begin, int64_t tokens) {
  return rows.view({shape.sequences, -1, rows.size(1)}).narrow(1, begin, tokens).reshape({-1, rows.size(1)});
}

struct Results {
  at::Tensor output_TA;
  at::Tensor dqkv_TE;
};

// Forwards of the segments from the first to the last, backwards from the last to the first.
Results run_segments(const at::Tensor& qkv_TE, const at::Tensor& doutput_TA, const Case& each) {
  const AttentionShape& shape = each.shape;
  struct Segment {
    int64_t begin = 0;
    int64_t tokens = 0;
    at::Tensor qkv_TE;
    AttentionResult result;
  };
  AttentionHistory history;
  std::vector<Segment> done;
  int64_t begin = 0;
  for (const int64_t tokens : each.segments) {
    Segment segment;
    segment.begin = begin;
    segment.tokens = tokens;
    segment.qkv_TE = rows_of(qkv_TE, shape, begin, tokens).clone();
    segment.result = attention_forward(segment.qkv_TE, history, shape);
    begin += tokens;
    if (begin < each.length()) history.add(keys_and_values(segment.qkv_TE, shape));
    done.push_back(std::move(segment));
  }
  Results run{.output_TA = at::empty_like(doutput_TA), .dqkv_TE = at::empty_like(qkv_TE)};
  const auto put = [&](at::Tensor& all, const at::Tensor& part, const Segment& segment) {
    all.view({shape.sequences, -1, all.size(1)})
        .narrow(1, segment.begin, segment.tokens)
        .copy_(part.view({shape.sequences, segment.tokens, all.size(1)}));
  };
  for (; !done.empty(); done.pop_back()) {
    Segment& segment = done.back();
    put(run.output_TA, segment.result.output_TA, segment);
    const at::Tensor by_later = history.begin_backward();
    if (!by_later.defined()) history.make_gradients();
    attention_backward(segment.qkv_TE, rows_of(doutput_TA, shape, segment.begin, segment.tokens),
                       segment.result, by_later, history, shape);
    put(run.dqkv_TE, segment.qkv_TE, segment);
  }
  return run;
}

class Attention : public testing::TestWithParam<Case> {
 protected:
  static at::Tensor random_qkv(const Case& each) {
    const AttentionShape& shape = each.shape;
    return at::randn({shape.sequences * each.length(), (shape.heads + 2 * shape.kv_heads) * shape.head_dim},
                     at::kDouble);
  }
};

TEST_P(Attention, EqualsPlainAttentionAndItsAutograd) {
  const at::Tensor oracle_qkv = random_qkv(GetParam()).requires_grad_();
  const at::Tensor oracle = plain_attention(oracle_qkv, GetParam().shape);
  const at::Tensor doutput = at::randn_like(oracle);
  oracle.backward(doutput);

  const Results run = run_segments(oracle_qkv.detach(), doutput, GetParam());
  EXPECT_TRUE(at::allclose(run.output_TA, oracle, 1e-10, 1e-12));
  EXPECT_TRUE(at::allclose(run.dqkv_TE, oracle_qkv.grad(), 1e-10, 1e-12));
}

// Within what the rounding of one result costs: sums are made in fp32.
TEST_P(Attention, InBf16IsAsExactAsItsElements) {
  const at::Tensor qkv = random_qkv(GetParam()).to(at::kBFloat16);
  const at::Tensor oracle_qkv = qkv.to(at::kDouble).requires_grad_();
  const at::Tensor oracle = plain_attention(oracle_qkv, GetParam().shape);
  const at::Tensor doutput = at::randn_like(oracle).to(at::kBFloat16);
  oracle.backward(doutput.to(at::kDouble));

  const Results run = run_segments(qkv, doutput, GetParam());
  EXPECT_TRUE(at::allclose(run.output_TA.to(at::kDouble), oracle, 0.02, 0.02));
  EXPECT_TRUE(at::allclose(run.dqkv_TE.to(at::kDouble), oracle_qkv.grad(), 0.05, 0.05));
}

TEST_P(Attention, ATokenNeverSeesTheFuture) {
  const AttentionShape& shape = GetParam().shape;
  const at::Tensor qkv = random_qkv(GetParam());
  const at::Tensor doutput = at::ones({qkv.size(0), shape.heads * shape.head_dim}, at::kDouble);
  at::Tensor changed = qkv.clone();
  const int64_t unaffected = GetParam().length() - 1;
  changed[unaffected].add_(1);
  const at::Tensor before = run_segments(qkv, doutput, GetParam()).output_TA;
  const at::Tensor after = run_segments(changed, doutput, GetParam()).output_TA;
  EXPECT_TRUE(at::equal(before.narrow(0, 0, unaffected), after.narrow(0, 0, unaffected)));
  EXPECT_FALSE(at::equal(before[unaffected], after[unaffected]));
}

// With more threads than key heads, a backward takes another way.
TEST_P(Attention, HasTheSameBitsOnAnyNumberOfThreads) {
  const at::Tensor qkv = random_qkv(GetParam()).to(at::kFloat);
  const AttentionShape& shape = GetParam().shape;
  const at::Tensor doutput = at::randn({qkv.size(0), shape.heads * shape.head_dim}, at::kFloat);
  const int threads = at::get_num_threads();
  std::vector<Results> runs;
  for (const int each : {1, 2, 7}) {
    at::set_num_threads(each);
    runs.push_back(run_segments(qkv, doutput, GetParam()));
  }
  at::set_num_threads(threads);
  for (const Results& run : runs) {
    EXPECT_TRUE(at::equal(run.output_TA, runs[0].output_TA));
    EXPECT_TRUE(at::equal(run.dqkv_TE, runs[0].dqkv_TE));
  }
}

constexpr AttentionShape kGrouped{.sequences = 1, .heads = 6, .kv_heads = 2, .head_dim = 8};
constexpr AttentionShape kThree{.sequences = 3, .heads = 4, .kv_heads = 1, .head_dim = 6};

INSTANTIATE_TEST_SUITE_P(
    Shapes, Attention,
    testing::Values(Case{{.sequences = 1, .heads = 3, .kv_heads = 3, .head_dim = 8}, {40}},
                    Case{kGrouped, {40}}, Case{kThree, {17}},
                    Case{{.sequences = 2, .heads = 2, .kv_heads = 2, .head_dim = 4}, {210}},
                    Case{{.sequences = 1, .heads = 2, .kv_heads = 1, .head_dim = 4}, {1}},
                    Case{kGrouped, {24, 16}}, Case{kGrouped, {13, 1, 20, 6}}, Case{kThree, {9, 5, 3}},
                    Case{{.sequences = 1, .heads = 2, .kv_heads = 2, .head_dim = 64}, {300, 212}}),
    testing::PrintToStringParamName());

}  // namespace
}  // namespace caravan::kernels
