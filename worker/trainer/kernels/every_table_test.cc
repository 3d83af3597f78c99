// Every kernel of every table (testing/every_table.h), over odd shapes, against plain ATen in fp64.
#include "worker/trainer/kernels/testing/every_table.h"

#include <cmath>

#include "common/testing/sample.h"
#include "common/testing/turn.h"
#include "worker/trainer/kernels/adamw.h"
#include "worker/trainer/kernels/attention.h"
#include "worker/trainer/kernels/embedding.h"
#include "worker/trainer/kernels/linear.h"
#include "worker/trainer/kernels/philox.h"
#include "worker/trainer/kernels/random_normal.h"
#include "worker/trainer/kernels/rms_norm.h"
#include "worker/trainer/kernels/rope.h"
#include "worker/trainer/kernels/sum_of_bits.h"
#include "worker/trainer/kernels/swiglu.h"
#include "worker/trainer/kernels/testing/plain_attention.h"

namespace caravan::kernels {
namespace {

constexpr double kNormEps = 1e-5;

class Kernels : public EveryTable {
 protected:
  // Rows and columns: single ones, less than a vector, odd, several tasks of a processor.
  static std::vector<std::pair<int64_t, int64_t>> shapes() {
    const int64_t rows = is_emulated() ? 150 : 1500;
    return test::sampled<std::pair<int64_t, int64_t>>(
        {{1, 1}, {1, 8}, {3, 37}, {1, 4099}, {70, 514}, {rows, 33}}, 2);
  }
};

TEST_P(Kernels, RmsNormAddsTheResidualAndNormalises) {
  CARAVAN_BY_TURNS();
  for (const auto& [rows, columns] : shapes()) {
    const at::Tensor x = random({rows, columns}), residual = random({rows, columns}), w = random({columns});
    at::Tensor sum = x.clone();
    const Normed normed = add_rms_norm(sum, residual, w, kNormEps);
    EXPECT_TRUE(at::equal(sum, x + residual));
    const at::Tensor exact_sum = sum.to(at::kDouble);
    const at::Tensor scale = at::rsqrt(exact_sum.square().mean(-1) + kNormEps);
    expect_near(normed.scale_T, scale, 16, "scale");
    expect_near(normed.y_TD, exact_sum * scale.unsqueeze(1) * w.to(at::kDouble), 16, "output");
    const Normed alone = rms_norm(sum, w, kNormEps);
    EXPECT_TRUE(at::equal(alone.y_TD, normed.y_TD));
    EXPECT_TRUE(at::equal(rms_norm_apply(sum, w, alone.scale_T), normed.y_TD));
  }
}

TEST_P(Kernels, RmsNormBackwardEqualsItsFormula) {
  CARAVAN_BY_TURNS();
  for (const auto& [rows, columns] : shapes()) {
    const at::Tensor x = random({rows, columns}), w = random({columns}), dy = random({rows, columns}),
                     residual = random({rows, columns}), dw = random_wide({columns});
    const Normed normed = rms_norm(x, w, kNormEps);
    const at::Tensor scale = normed.scale_T.to(at::kDouble).unsqueeze(1);
    const at::Tensor n = x.to(at::kDouble) * scale, g = dy.to(at::kDouble) * w.to(at::kDouble);
    const auto make = [&] {
      at::Tensor gradient = dy.clone(), sum = dw.clone();
      rms_norm_backward(gradient, x, w, normed.scale_T, residual, sum);
      return std::vector<at::Tensor>{gradient, sum};
    };
    const auto made = make();
    const at::Tensor by_x = scale * (g - n * (g * n).mean(-1, true));
    expect_near(made[0], by_x + residual.to(at::kDouble), 64, "gradient by the input");
    expect_near(made[1], dw.to(at::kDouble) + (dy.to(at::kDouble) * n).sum(0), 512, "by the weight");
    expect_same_on_all_threads(make);
  }
}

TEST_P(Kernels, SwigluEqualsItsFormula) {
  for (const auto& [rows, columns] : shapes()) {
    const at::Tensor gate_up = random({rows, 2 * columns}) * 4, dy = random({rows, columns});
    const at::Tensor gate = gate_up.narrow(1, 0, columns).to(at::kDouble);
    const at::Tensor up = gate_up.narrow(1, columns, columns).to(at::kDouble);
    const at::Tensor s = gate.sigmoid(), gradient = dy.to(at::kDouble);
    const auto make = [&] {
      at::Tensor by_gate_up = gate_up.clone(), output = dy.clone();
      swiglu_backward(by_gate_up, output);
      return std::vector<at::Tensor>{swiglu_forward(gate_up), output, by_gate_up};
    };
    const auto made = make();
    EXPECT_TRUE(at::equal(made[0], made[1])) << "the output comes back";
    expect_near(made[0], gate * s * up, 8, "output");
    expect_near(made[2].narrow(1, 0, columns), gradient * up * s * (1 + gate * (1 - s)), 16, "by the gates");
    expect_near(made[2].narrow(1, columns, columns), gradient * gate * s, 8, "by the ups");
    expect_same_on_all_threads(make);
  }
}

// Gates from where silu is zero to where it is the gate itself; what is no number stays none.
TEST_P(Kernels, SwigluKnowsNoLimits) {
  const at::Tensor gates = at::tensor({-3e38, -1e4, -200., -89., -87., 0., 87., 89., 200., 1e4, 3e38, NAN});
  const at::Tensor gate_up = stored(at::cat({gates, at::ones_like(gates)}).unsqueeze(0));
  const at::Tensor exact = at::silu(gate_up.narrow(1, 0, gates.numel()).to(at::kDouble));
  const at::Tensor made = swiglu_forward(gate_up).to(at::kDouble);
  EXPECT_TRUE(at::allclose(made, exact, 0x1p-7, 1e-30, /*equal_nan=*/true)) << made;
}

// Probabilities of a softmax whose maximum is 0 and whose sum is 1 are e^x.
TEST_P(Kernels, ExponentialsAreExactToARounding) {
  CARAVAN_BY_TURNS();
  const at::Tensor logits = stored(at::linspace(-86, 0, 20001, at::kDouble).view({-1, 1}));
  at::Tensor powers = at::cat({logits, at::zeros_like(logits)}, 1);
  at::Tensor statistics = at::ones({kStatistics, powers.size(0)}, random_wide({1}).options());
  statistics.zero_()[kSum].fill_(1);
  const at::Tensor targets = at::full({powers.size(0)}, 5, at::kLong);  // another rank's
  cross_entropy_gradient(powers, targets, 0, 1, statistics);
  const at::Tensor exact = logits.to(at::kDouble).exp();
  const double unit = storage() == at::kDouble ? 0x1p-51 : storage() == at::kFloat ? 0x1p-22 : 0x1p-8;
  EXPECT_TRUE(at::allclose(powers.narrow(1, 0, 1).to(at::kDouble), exact, unit, 0));
}

TEST_P(Kernels, RopeTurnsPairsHalfAHeadApart) {
  for (const int64_t head_dim : {2, 10, 64}) {
    planner::ModelShape model;
    model.head_dim = head_dim;
    const at::Tensor table = rope_table(model, 7, storage()).to(device());
    const at::Tensor x = random({21, 5 * head_dim});
    const auto turn = [&](Rotation rotation) {
      at::Tensor turned = x.clone();
      rope_apply(turned, table, 4, rotation);
      return turned;
    };
    const at::Tensor heads = x.to(at::kDouble).view({3, 7, 5, 2, head_dim / 2}).narrow(2, 0, 4);
    const at::Tensor a = heads.select(3, 0), b = heads.select(3, 1);
    const at::Tensor angles = table.to(at::kDouble).view({7, 1, 2, head_dim / 2});
    const at::Tensor cosine = angles.select(2, 0), sine = angles.select(2, 1);
    for (const double sign : {1., -1.}) {
      const at::Tensor turned = turn(sign > 0 ? Rotation::Forward : Rotation::Backward);
      const at::Tensor exact = at::stack({a * cosine - sign * b * sine, b * cosine + sign * a * sine}, 3);
      expect_near(turned.narrow(1, 0, 4 * head_dim), exact.reshape({21, 4 * head_dim}), 4, "turned heads");
      EXPECT_TRUE(at::equal(turned.narrow(1, 4 * head_dim, head_dim), x.narrow(1, 4 * head_dim, head_dim)));
    }
    expect_same_on_all_threads([&] { return std::vector<at::Tensor>{turn(Rotation::Forward)}; });
  }
}

// Whatever the device, and wherever in the sequence a tensor begins.
TEST_P(Kernels, NormalNumbersAreTheSameEverywhere) {
  for (const int64_t first : {0, 1, 6}) {
    for (const int64_t count : {1, 3, 5000}) {
      const auto fill = [&] {
        at::Tensor values = at::full({count + 1}, 7, random({1}).options());
        at::Tensor filled = values.narrow(0, 0, count);
        fill_normal(filled, 9, first, 0.5);
        return std::vector<at::Tensor>{values};
      };
      at::Tensor exact = at::empty({count}, at::kDouble);
      cpu_kernels().fill_normal(exact, 9, first, 0.5);
      const at::Tensor made = fill()[0];
      expect_near(made.narrow(0, 0, count).cpu(), exact, 1, "normal numbers");
      EXPECT_EQ(made[count].item<double>(), 7) << "behind the end";
      expect_same_on_all_threads(fill);
    }
  }
}

TEST_P(Kernels, AttentionAndItsGradients) {
  CARAVAN_BY_TURNS();
  struct Case {
    int64_t tokens;
    AttentionShape shape;
  };
  for (const Case& each : {Case{1, {.sequences = 1, .heads = 1, .kv_heads = 1, .head_dim = 2}},
                           {130, {.sequences = 2, .heads = 4, .kv_heads = 2, .head_dim = 6}},
                           {300, {.sequences = 1, .heads = 2, .kv_heads = 1, .head_dim = 40}},
                           {67, {.sequences = 3, .heads = 2, .kv_heads = 2, .head_dim = 64}},
                           {40, {.sequences = 2, .heads = 4, .kv_heads = 2, .head_dim = 128}}}) {
    const auto tokens = each.tokens;
    const auto& shape = each.shape;
    if (!device().is_cpu() && shape.head_dim < 64) continue;  // libraries' kernels are for heads of models
    const int64_t rows = shape.sequences * tokens;
    const at::Tensor qkv = random({rows, (shape.heads + 2 * shape.kv_heads) * shape.head_dim});
    const at::Tensor doutput = random({rows, shape.heads * shape.head_dim});
    const at::Tensor oracle = qkv.to(at::kDouble).requires_grad_();
    const at::Tensor exact = plain_attention(oracle, shape);
    exact.backward(doutput.to(at::kDouble));
    const auto make = [&] {
      AttentionHistory none;
      const AttentionResult result = attention_forward(qkv, none, shape);
      at::Tensor gradient = qkv.clone();
      attention_backward(gradient, doutput, result, {}, none, shape);
      return std::vector<at::Tensor>{result.output_TA, gradient};
    };
    const auto made = make();
    expect_near(made[0], exact, 16, "output");
    expect_near(made[1], oracle.grad(), storage() == at::kBFloat16 ? 4 : 256, "gradient");
    // The emulated GPU's is made of LibTorch's products for processors, whose sums the threads cut, and cuDNN
    // promises no order.
    if (!is_gpu()) expect_same_on_all_threads(make);
  }
}

TEST_P(Kernels, AttentionOfSegmentsIsThatOfTheWholeSequence) {
  CARAVAN_BY_TURNS();
  const AttentionShape shape{.sequences = 1, .heads = 4, .kv_heads = 2, .head_dim = 64};
  const std::vector<int64_t> segments = {40, 130, 60};
  const at::Tensor qkv = random({230, (4 + 2 * 2) * 64});
  const at::Tensor doutput = random({230, 4 * 64});
  const at::Tensor oracle = qkv.to(at::kDouble).requires_grad_();
  const at::Tensor exact = plain_attention(oracle, shape);
  exact.backward(doutput.to(at::kDouble));
  std::vector<at::Tensor> rows = qkv.split_with_sizes(segments), outputs;
  const std::vector<at::Tensor> by_outputs = doutput.split_with_sizes(segments);
  std::vector<AttentionResult> results;
  AttentionHistory history;
  for (at::Tensor& segment : rows) {
    segment = segment.clone();
    results.push_back(attention_forward(segment, history, shape));
    outputs.push_back(results.back().output_TA);
    if (results.size() < rows.size()) history.add(keys_and_values(segment, shape));
  }
  for (std::size_t i = rows.size(); i-- > 0;) {
    const at::Tensor by_later = history.begin_backward();
    if (!by_later.defined()) history.make_gradients();
    attention_backward(rows[i], by_outputs[i], results[i], by_later, history, shape);
  }
  expect_near(at::cat(outputs), exact, 16, "output");
  expect_near(at::cat(rows), oracle.grad(), storage() == at::kBFloat16 ? 8 : 256, "gradient");
}

TEST_P(Kernels, CrossEntropyAndItsGradient) {
  CARAVAN_BY_TURNS();
  constexpr double kScale = 0.25;
  for (const auto& [rows, vocabulary] : {std::pair<int64_t, int64_t>{1, 1}, {1, 9001}, {5, 37}, {70, 514}}) {
    const int64_t tokens = rows;
    const at::Tensor logits = random({tokens, vocabulary}) * 5;
    at::Tensor targets = at::randint(0, vocabulary, {tokens}, at::kLong);
    if (tokens > 1) targets[tokens / 2] = -1;
    const at::Tensor oracle = logits.to(at::kDouble).requires_grad_();
    const at::Tensor exact =
        at::nll_loss(oracle.log_softmax(-1), targets.to(device()), {}, at::Reduction::Sum, -1);
    (exact * kScale).backward();
    const auto make = [&] {
      at::Tensor gradient = logits.clone(), statistics = random_wide({kStatistics, tokens});
      cross_entropy_maxima(gradient, statistics);
      cross_entropy_sums(gradient, targets, 0, statistics);
      const double loss = loss_of(targets, statistics);
      cross_entropy_gradient(gradient, targets, 0, kScale, statistics);
      return std::vector<at::Tensor>{gradient, at::tensor(loss, at::kDouble)};
    };
    const auto made = make();
    const double tolerance = storage() == at::kDouble ? 1e-12 : 1e-5;
    EXPECT_NEAR(made[1].item<double>(), exact.item<double>(), tolerance * static_cast<double>(tokens));
    expect_near(made[0], oracle.grad(), 4, "gradient");
    expect_same_on_all_threads(make);
  }
}

TEST_P(Kernels, CrossEntropyOfWhatIsNoNumberIsNone) {
  at::Tensor logits = random({1, 100});
  logits[0][63] = NAN;
  const at::Tensor targets = at::zeros({1}, at::kLong);
  at::Tensor statistics = random_wide({kStatistics, 1});
  cross_entropy_maxima(logits, statistics);
  cross_entropy_sums(logits, targets, 0, statistics);
  EXPECT_TRUE(std::isnan(loss_of(targets, statistics)));
}

// Another rank has the whole vocabulary.
TEST_P(Kernels, CrossEntropyOfAnEmptyVocabulary) {
  at::Tensor logits = random({3, 0}), statistics = random_wide({kStatistics, 3});
  const at::Tensor targets = at::zeros({3}, at::kLong);
  cross_entropy_maxima(logits, statistics);
  EXPECT_LE(statistics[kMaximum].max().item<double>(), -3.4e38);
  statistics[kMaximum].fill_(2);
  cross_entropy_sums(logits, targets, 5, statistics);
  EXPECT_TRUE(at::equal(statistics.narrow(0, kSum, 2), at::zeros_like(statistics.narrow(0, kSum, 2))));
  cross_entropy_gradient(logits, targets, 5, 1, statistics);
}

TEST_P(Kernels, EmbeddingGradientAddsInTheOrderOfTheTokens) {
  for (const int64_t columns : {1, 37, 200}) {
    const at::Tensor dy = random({50, columns}), start = random_wide({9, columns});
    const at::Tensor tokens = at::randint(0, 12, {50}, at::kLong);
    at::Tensor exact = start.clone();  // tokens 2 to 10
    for (int64_t i = 0; i < 50; ++i) {
      const int64_t row = tokens[i].item<int64_t>() - 2;
      if (row >= 0 && row < 9) exact[row] += dy[i].to(exact.scalar_type());
    }
    const auto make = [&] {
      at::Tensor sum = start.clone();
      embedding_backward(dy, tokens, sum, 2);
      return std::vector<at::Tensor>{sum};
    };
    EXPECT_TRUE(at::equal(make()[0], exact));
    expect_same_on_all_threads(make);
  }
}

// Little-endian words of 32 bits, the last one filled up with zeros.
TEST_P(Kernels, SumOfBitsAddsWords) {
  for (const int64_t elements : {0, 1, 2, 37, 70001}) {
    const at::Tensor values = random({elements});
    uint64_t exact = 0;
    const at::Tensor host = on_host(values);
    const std::span<const std::byte> bytes = bytes_of(host);
    for (std::size_t i = 0; i < bytes.size(); ++i)
      exact += static_cast<uint64_t>(bytes[i]) << (i % sizeof(uint32_t) * 8);
    EXPECT_EQ(sum_of_bits(values), exact);
  }
}

TEST_P(Kernels, LinearLayersMultiplyAndAddUpTheirWeightGradients) {
  const at::Tensor x = random({19, 24}), w = random({10, 24}), dy = random({19, 10}),
                   before = random_wide({10, 24});
  const auto wide = [](const at::Tensor& tensor) { return tensor.to(at::kDouble); };
  at::Tensor dw = before.clone();
  linear_backward_weight(dy, x, dw);
  expect_near(linear_forward(x, w), at::matmul(wide(x), wide(w).t()), 32, "output");
  expect_near(linear_backward_input(dy, w), at::matmul(wide(dy), wide(w)), 32, "by the input");
  expect_near(dw, wide(before) + at::matmul(wide(dy).t(), wide(x)), 64, "by the weight, in fp32");
}

TEST_P(Kernels, SumOfSquaresIsFp64) {
  CARAVAN_BY_TURNS();
  for (const int64_t elements : {0, 1, 37, 100003}) {
    const at::Tensor values = random_wide({elements});
    const auto make = [&] {
      return std::vector<at::Tensor>{at::tensor(sum_of_squares(values), at::kDouble)};
    };
    const double exact = values.to(at::kDouble).square().sum().item<double>();
    EXPECT_NEAR(make()[0].item<double>(), exact, 1e-12 * exact);
    expect_same_on_all_threads(make);
  }
}

// Several steps, so that moments count; values of bf16 weights are the master copy, rounded.
TEST_P(Kernels, AdamwFollowsThePaper) {
  CARAVAN_BY_TURNS();
  for (const int64_t elements : {1, 37, 40003}) {
    const at::Tensor weights = random_wide({elements});
    const at::Tensor master = weights.clone();
    AdamWTensors run{.weights = master,
                     .gradients = {},
                     .first_moment = at::zeros_like(weights),
                     .second_moment = at::zeros_like(weights),
                     .values = storage() == at::kBFloat16 ? master.to(storage()) : master};
    at::Tensor weight = weights.to(at::kDouble), first = at::zeros_like(weight),
               second = at::zeros_like(weight);
    AdamW update{.learning_rate = 0.01, .beta1 = 0.9, .beta2 = 0.95, .epsilon = 1e-8, .weight_decay = 0.1};
    for (; update.step <= 3; ++update.step) {
      update.gradient_scale = update.step == 2 ? 0.5 : 1;
      run.gradients = random_wide({elements});
      const at::Tensor g = run.gradients.to(at::kDouble) * update.gradient_scale;
      first = 0.9 * first + 0.1 * g;
      second = 0.95 * second + 0.05 * g * g;
      const double step = static_cast<double>(update.step);
      weight = weight * (1 - 0.01 * 0.1) - 0.01 * (first / (1 - std::pow(0.9, step))) /
                                               ((second / (1 - std::pow(0.95, step))).sqrt() + 1e-8);
      AdamWTensors trial = run;
      trial.values = at::empty_like(run.values);
      adamw_values(trial, update);
      adamw(run, update);
      EXPECT_TRUE(at::equal(trial.values, run.values)) << "a trial comes to the same bits";
    }
    EXPECT_TRUE(at::equal(run.gradients, at::zeros_like(run.gradients)));
    EXPECT_TRUE(at::equal(run.values, run.weights.to(storage())));
    expect_near(run.first_moment, first, 8, "first moment");
    expect_near(run.second_moment, second, 8, "second moment");
    expect_near(run.weights, weight, 64, "weights");
  }
}

// Moments after one step, from none: in fp32, and in bf16, of those elements of a tensor.
struct Stepped {
  at::Tensor weights, first, second;
};
Stepped stepped(const at::Tensor& weights, const at::Tensor& gradients, at::ScalarType moments,
                const ElementNumbers& numbers = {}) {
  const at::Tensor own = weights.clone();
  const AdamWTensors run{.weights = own,
                         .gradients = gradients.clone(),
                         .first_moment = at::zeros_like(own).to(moments),
                         .second_moment = at::zeros_like(own).to(moments),
                         .values = own};
  adamw(run, {.learning_rate = 0.01,
              .beta1 = 0.9,
              .beta2 = 0.95,
              .epsilon = 1e-8,
              .rounding_key = 5,
              .numbers = numbers});
  return {own, run.first_moment, run.second_moment};
}

TEST_P(Kernels, AdamwRoundsBf16MomentsUpAsOftenAsTheyAreNear) {
  if (storage() != at::kFloat) return;  // weights are fp32, or moments are fp64
  constexpr int64_t kElements = 20'003;
  const at::Tensor weights = random_wide({kElements}), gradients = random_wide({kElements});
  const Stepped exact = stepped(weights, gradients, at::kFloat);
  const Stepped rounded = stepped(weights, gradients, at::kBFloat16);
  EXPECT_TRUE(at::equal(rounded.weights, exact.weights)) << "of moments before they are rounded";
  for (const auto& [made, wanted] : {std::pair(rounded.first, exact.first), {rounded.second, exact.second}}) {
    const at::Tensor unit = at::exp2(wanted.abs().log2().floor() - 7);
    const at::Tensor error = (made.to(at::kDouble) - wanted) / unit;
    EXPECT_LT(error.abs().max().item<double>(), 1);
    EXPECT_LT(std::abs(error.mean().item<double>()), 0.02)
        << "to the nearest would be biased too, over steps";
    const double nearest = at::eq(made, wanted.to(at::kBFloat16)).to(at::kDouble).mean().item<double>();
    EXPECT_GT(nearest, 0.5);
    EXPECT_LT(nearest, 0.9) << "rounded to the nearest, not at random";
  }
  expect_same_on_all_threads([&] {
    const Stepped again = stepped(weights, gradients, at::kBFloat16);
    return std::vector<at::Tensor>{again.first, again.second};
  });
}

TEST_P(Kernels, AdamwRoundsAnElementTheSameWhereverATensorIsCut) {
  if (storage() != at::kFloat) return;
  constexpr int64_t kElements = 203;
  const at::Tensor weights = random_wide({kElements}), gradients = random_wide({kElements});
  const Stepped whole = stepped(weights, gradients, at::kBFloat16);
  for (const int64_t begin : {1, 2, 3, 4, 102}) {
    const int64_t rest = kElements - begin;
    const Stepped part = stepped(weights.narrow(0, begin, rest), gradients.narrow(0, begin, rest),
                                 at::kBFloat16, {.first = begin});
    EXPECT_TRUE(at::equal(part.first, whole.first.narrow(0, begin, rest))) << begin;
    EXPECT_TRUE(at::equal(part.second, whole.second.narrow(0, begin, rest))) << begin;
  }
}

// Upper halves of words, to which random ones were added below.
at::Tensor rounded_up_by(const at::Tensor& exact, const std::vector<uint32_t>& noise) {
  const at::Tensor words =
      at::from_blob(const_cast<uint32_t*>(noise.data()), exact.sizes(), at::kInt).to(exact.device());
  const at::Tensor sums = exact.view(at::kInt) + words;
  return sums.bitwise_and(static_cast<int32_t>(0xFFFF0000)).view(at::kFloat);
}

TEST_P(Kernels, AdamwRoundsByTheRandomWordOfEachElement) {
  if (storage() != at::kFloat) return;
  constexpr int64_t kElements = 203, kManyBlocks = int64_t{4} << 32;
  const at::Tensor weights = random_wide({kElements}), gradients = random_wide({kElements});
  const Stepped exact = stepped(weights, gradients, at::kFloat);
  for (const ElementNumbers& numbers :
       {ElementNumbers{.first = 2}, ElementNumbers{.begin = kManyBlocks - 30},
        ElementNumbers{.first = 5, .part_columns = 7, .columns = 20, .begin = 3},
        ElementNumbers{.first = 90, .part_columns = 77, .columns = 1000, .begin = 11}}) {
    std::vector<uint32_t> first, second;
    for (int64_t i = 0; i < kElements; ++i) {
      const auto number = static_cast<uint64_t>(numbers[i]);
      const uint32_t word = philox(/*key=*/5, number / 4, /*step*/ 1).word[number % 4];
      first.push_back(word & 0xFFFF);
      second.push_back(word >> 16);
    }
    const Stepped made = stepped(weights, gradients, at::kBFloat16, numbers);
    EXPECT_TRUE(at::equal(made.first.to(at::kFloat), rounded_up_by(exact.first, first))) << numbers.begin;
    EXPECT_TRUE(at::equal(made.second.to(at::kFloat), rounded_up_by(exact.second, second))) << numbers.begin;
  }
}

TEST_P(Kernels, AdamwLeavesMomentsThatAreNoNumbersAsTheyAre) {
  if (storage() != at::kFloat) return;
  const at::Tensor gradients = stored(at::tensor({INFINITY, -INFINITY, NAN, 0.F}));
  const Stepped made = stepped(at::ones_like(gradients), gradients, at::kBFloat16);
  EXPECT_TRUE(at::allclose(made.first.to(at::kFloat), gradients, 0, 0, /*equal_nan=*/true));
}

INSTANTIATE_TEST_SUITE_P(All, Kernels, testing::ValuesIn(every_table()), name_of);

}  // namespace
}  // namespace caravan::kernels
