// In fp64, where whatever is worked on once or twice agrees to ten digits.
#include "worker/trainer/generate/decoder.h"

#include <ATen/ops/allclose.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/tensor.h>
#include <gtest/gtest.h>

#include <span>
#include <vector>

#include "worker/trainer/kernels/host_copy.h"
#include "worker/trainer/memory/counting_allocator.h"
#include "worker/trainer/model/stage.h"
#include "worker/trainer/model/testing/odd_model.h"

namespace caravan::trainer {
namespace {

constexpr int64_t kLength = 24;

planner::ModelShape model(bool tied) {
  planner::ModelShape model = odd_model(24, 3, tied);
  model.rope_scaling = planner::RopeScaling{.factor = 4, .original_positions = 8};
  return model;
}

ParameterStore parameters_of(const planner::ModelShape& model) {
  ParameterStore store = allocate_values(lay_out_parameters(model, whole_model(model), 1), at::kDouble);
  initialise_parameters(store, 3);
  store.values.mul_(20);  // far from uniform
  return store;
}

std::vector<int64_t> tokens() {
  std::vector<int64_t> tokens;
  for (int64_t i = 0; i < kLength; ++i) tokens.push_back(i * i * 5 % 37);
  return tokens;
}

TEST(Decoder, GivesTheSameLogitsHoweverTheTokensCome) {
  const planner::ModelShape shape = model(false);
  const std::vector<int64_t> all = tokens();
  Decoder whole(shape, parameters_of(shape), kLength);
  const at::Tensor expected = whole.add(all);
  for (const std::size_t first : {1u, 7u, 23u}) {
    Decoder cut(shape, parameters_of(shape), kLength);
    at::Tensor logits = cut.add(std::span(all).first(first));
    for (std::size_t i = first; i < all.size(); ++i) logits = cut.add(std::span(all).subspan(i, 1));
    EXPECT_TRUE(at::allclose(logits, expected, 1e-10, 1e-10)) << first;
  }
  Decoder pieces(shape, parameters_of(shape), kLength);
  pieces.add(std::span(all).first(5));
  pieces.add(std::span(all).subspan(5, 11));
  EXPECT_TRUE(at::allclose(pieces.add(std::span(all).subspan(16)), expected, 1e-10, 1e-10));
}

TEST(Decoder, TakesTwoVectorsOfALayerAndARowOfTheRotaryTableForEachToken) {
  const planner::ModelShape shape = model(true);
  const ParameterLayout layout = lay_out_parameters(shape, whole_model(shape), 1);
  const int64_t without = decoder_bytes(shape, layout, at::kBFloat16, 0);
  EXPECT_GT(without, layout.elements * 2);
  EXPECT_EQ(decoder_bytes(shape, layout, at::kBFloat16, 10) - without, 10 * (2 * 3 * 2 * 6 * 2 + 6 * 4));
}

TEST(Decoder, TakesNoMoreForALongPromptThanItSays) {
  constexpr int64_t kLogits = 1024;  // bytes, with the norm before them
  const planner::ModelShape shape = model(false);
  const int64_t most_tokens = 6 * Decoder::kPieceTokens;
  const std::vector<int64_t> prompt(static_cast<std::size_t>(most_tokens), 5);
  MemoryCounter counter;
  const CountingAllocator allocator(counter);
  Decoder decoder(shape, parameters_of(shape), most_tokens);
  const int64_t told =
      decoder_bytes(shape, lay_out_parameters(shape, whole_model(shape), 1), at::kDouble, most_tokens);
  EXPECT_LT(counter.peak_bytes(), told);
  decoder.add(prompt);
  EXPECT_LE(counter.peak_bytes(), told + kLogits);
  EXPECT_GE(counter.peak_bytes(), told - told / 10);
}

TEST(Decoder, ContinuesAPromptOfSeveralPiecesAsOneThatComesTokenByToken) {
  const planner::ModelShape shape = model(false);
  std::vector<int64_t> prompt;
  for (int64_t i = 0; i < 2 * Decoder::kPieceTokens + 3; ++i) prompt.push_back(i * i * 5 % 37);
  Decoder at_once(shape, parameters_of(shape), std::ssize(prompt));
  Decoder one_by_one(shape, parameters_of(shape), std::ssize(prompt));
  at::Tensor expected;
  for (const int64_t token : prompt) expected = one_by_one.add(std::span(&token, 1));
  EXPECT_TRUE(at::allclose(at_once.add(prompt), expected, 1e-10, 1e-10));
}

TEST(Decoder, SaysWhatTheTrainedStageSays) {
  for (const bool tied : {false, true}) {
    const planner::ModelShape shape = model(tied);
    const std::vector<int64_t> all = tokens();
    Decoder decoder(shape, parameters_of(shape), kLength);
    double loss = 0;
    for (std::size_t i = 0; i + 1 < all.size(); ++i)
      loss -= at::log_softmax(decoder.add(std::span(all).subspan(i, 1)), 0)[all[i + 1]].item<double>();

    ParameterStore store = parameters_of(shape);
    SoloCommunicator alone;
    Stage stage({.model = shape,
                 .placement = whole_model(shape),
                 .sequence_length = kLength - 1,
                 .storage = at::kDouble},
                store, alone);
    const at::Tensor ids = at::tensor(all, at::kLong);
    const TokenBatch batch{.inputs_BS = ids.narrow(0, 0, kLength - 1).unsqueeze(0),
                           .targets_BS = ids.narrow(0, 1, kLength - 1).unsqueeze(0)};
    EXPECT_NEAR(kernels::read_number(stage.evaluate(0, batch, {}).loss_sum), loss, 1e-9 * loss);
  }
}

}  // namespace
}  // namespace caravan::trainer
