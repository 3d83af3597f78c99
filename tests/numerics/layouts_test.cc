// Every way to spread one step over ranks gives the loss and the gradients of the whole model on one rank,
// and that one gives those of autograd.
#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <gtest/gtest.h>

#include <ostream>

#include "tests/numerics/run_layout.h"

namespace caravan::numerics {

void PrintTo(const LayoutCase& layout, std::ostream* out) {
  *out << layout.name;
}

namespace {

planner::ModelShape grouped_queries() {
  planner::ModelShape model;
  model.hidden = 48;
  model.layers = 3;
  model.heads = 8;
  model.kv_heads = 4;
  model.head_dim = 8;
  model.ffn = 72;
  model.vocab = 101;
  return model;
}

planner::ModelShape tied_and_scaled() {
  planner::ModelShape model = grouped_queries();
  model.tied_embeddings = true;
  model.kv_heads = 8;
  model.rope_theta = 10000;
  model.rope_scaling = planner::RopeScaling{.original_positions = 16};
  return model;
}

constexpr int kMicroBatches = 2;
constexpr int64_t kSequencesPerMicroBatch = 2;
constexpr int64_t kSequenceLength = 24;

const LayoutCase kOneRank{.name = "OneRank"};

const LayoutCase kLayouts[] = {
    kOneRank,
    {.name = "Checkpointing", .recomputed_layers = 3},
    {.name = "CheckpointingOfOneLayer", .recomputed_layers = 1},
    {.name = "CheckpointingOfTwoMlps",
     .recomputed_layers = 2,
     .recomputed_part = planner::RecomputedPart::Mlp},
    {.name = "PipelineCheckpointingOfOneLayer", .recomputed_layers = 1, .layers_per_stage = {2, 1}},
    {.name = "WeightGradientsLast", .weight_gradients_last = true},
    {.name = "Pipeline", .layers_per_stage = {1, 1, 1}},
    {.name = "PipelineUneven", .layers_per_stage = {2, 1}},
    {.name = "PipelineEmptyLastStage", .layers_per_stage = {3, 0}},
    {.name = "Tensor2", .tensor = 2},
    {.name = "Tensor4", .tensor = 4},
    {.name = "Tensor2Sequence", .tensor = 2, .sequence_parallel = true},
    {.name = "Tensor4Sequence", .tensor = 4, .sequence_parallel = true},
    {.name = "Tensor4SequenceCheckpointing", .tensor = 4, .sequence_parallel = true, .recomputed_layers = 3},
    {.name = "Data2", .data = 2},
    {.name = "Data2WithoutSharding", .data = 2, .zero_stage = 0},
    {.name = "Tensor2SequencePipelineData2",
     .tensor = 2,
     .data = 2,
     .sequence_parallel = true,
     .layers_per_stage = {2, 1}},
    {.name = "Tensor2SequencePipelineWeightGradientsLast",
     .tensor = 2,
     .sequence_parallel = true,
     .layers_per_stage = {1, 2},
     .weight_gradients_last = true},
};

class Layouts : public testing::TestWithParam<LayoutCase> {
 protected:
  static void SetUpTestSuite() { at::set_num_threads(1); }  // as a rank of a full machine
  static StepResult run(const planner::ModelShape& model, const LayoutCase& layout, at::ScalarType storage) {
    return run_layout(model, random_weights(model, 5), layout, storage, batches(model));
  }
  static std::vector<MicroBatch> batches(const planner::ModelShape& model) {
    return random_batches(model, kMicroBatches, kSequencesPerMicroBatch, kSequenceLength);
  }
};

TEST_P(Layouts, EqualAutogradInFp64) {
  for (const planner::ModelShape& model : {grouped_queries(), tied_and_scaled()}) {
    const StepResult reference = run_reference(model, random_weights(model, 5), batches(model));
    expect_close(run(model, GetParam(), at::kDouble), reference, 1e-10, 1e-13);
  }
}

TEST_P(Layouts, AreCloseToAutogradInBf16) {
  const planner::ModelShape model = grouped_queries();
  const StepResult reference = run_reference(model, random_weights(model, 5), batches(model));
  const StepResult rounded = run(model, GetParam(), at::kBFloat16);
  EXPECT_NEAR(rounded.loss, reference.loss, 0.01 * reference.loss);
  for (const auto& [name, gradient] : reference.gradients) {
    const at::Tensor error = rounded.gradients.at(name).to(at::kDouble) - gradient;
    EXPECT_LT((error.norm() / gradient.norm()).item<double>(), 0.03) << name;
  }
}

TEST_P(Layouts, GiveTheSameBitsTwice) {
  for (const at::ScalarType storage : {at::kFloat, at::kBFloat16})
    expect_bit_equal(run(grouped_queries(), GetParam(), storage),
                     run(grouped_queries(), GetParam(), storage));
}

INSTANTIATE_TEST_SUITE_P(All, Layouts, testing::ValuesIn(kLayouts),
                         [](const auto& info) { return info.param.name; });

class SpreadLayouts : public Layouts {};

TEST_P(SpreadLayouts, EqualOneRankInFp32) {
  for (const planner::ModelShape& model : {grouped_queries(), tied_and_scaled()})
    expect_close(run(model, GetParam(), at::kFloat), run(model, kOneRank, at::kFloat), 1e-5, 1e-6);
}

INSTANTIATE_TEST_SUITE_P(All, SpreadLayouts,
                         testing::ValuesIn(std::vector(std::begin(kLayouts) + 1, std::end(kLayouts))),
                         [](const auto& info) { return info.param.name; });

class SameBits : public Layouts {};

// What changes no order of additions changes no bit.
TEST_P(SameBits, AsOneRankThatKeepsEverything) {
  for (const at::ScalarType storage : {at::kFloat, at::kBFloat16})
    expect_bit_equal(run(grouped_queries(), GetParam(), storage), run(grouped_queries(), kOneRank, storage));
}

INSTANTIATE_TEST_SUITE_P(All, SameBits, testing::ValuesIn(std::vector(kLayouts + 1, kLayouts + 7)),
                         [](const auto& info) { return info.param.name; });

// So many rows that the head takes the tokens of a micro-batch in two chunks.
planner::ModelShape large_vocabulary() {
  planner::ModelShape model = grouped_queries();
  model.layers = 1;
  model.vocab = 70'001;
  return model;
}

TEST(LargeVocabulary, EqualsAutogradInFp64ThoughLogitsAreMadeInChunks) {
  const planner::ModelShape model = large_vocabulary();
  const NamedTensors weights = random_weights(model, 5);
  const auto batches = random_batches(model, 1, /*micro_batch_size=*/2, /*sequence_length=*/48);
  const StepResult reference = run_reference(model, weights, batches);
  for (const LayoutCase& layout :
       {kOneRank, LayoutCase{.name = "Tensor2Sequence", .tensor = 2, .sequence_parallel = true}})
    expect_close(run_layout(model, weights, layout, at::kDouble, batches), reference, 1e-10, 1e-13);
}

}  // namespace
}  // namespace caravan::numerics
