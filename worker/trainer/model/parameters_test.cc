#include "worker/trainer/model/parameters.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/zeros_like.h>
#include <gtest/gtest.h>

#include <stdexcept>

#include "worker/trainer/model/testing/allocate_parameters.h"

namespace caravan::trainer {
namespace {

planner::ModelShape small_model() {
  planner::ModelShape model;
  model.hidden = 48;
  model.layers = 3;
  model.heads = 8;
  model.kv_heads = 4;
  model.head_dim = 6;
  model.ffn = 72;
  model.vocab = 101;
  return model;
}

StagePlacement whole_model(int tensor_rank = 0, int tensor_size = 1) {
  return {.chunks = {{.layers = 3, .has_embedding = true, .has_head = true}},
          .tensor_rank = tensor_rank,
          .tensor_size = tensor_size};
}

ParameterStore initialised(const planner::ModelShape& model, const StagePlacement& placement) {
  ParameterStore store = allocate_parameters(model, placement, 1, at::kFloat);
  initialise_parameters(store, 42);
  return store;
}

TEST(Parameters, BucketsCoverTheBufferWithoutOverlap) {
  const ParameterLayout layout = lay_out_parameters(small_model(), whole_model(), 256);
  int64_t end = 0;
  for (const Bucket& bucket : layout.buckets) {
    EXPECT_EQ(bucket.offset, end) << bucket.name;
    EXPECT_EQ(bucket.elements % 256, 0) << bucket.name;
    end += bucket.elements;
  }
  EXPECT_EQ(end, layout.elements);
  int64_t next = 0;
  for (const Parameter& parameter : layout.parameters) {
    const Bucket& bucket = layout.buckets[parameter.bucket];
    EXPECT_GE(parameter.offset, next) << parameter.name;
    EXPECT_GE(parameter.offset, bucket.offset) << parameter.name;
    next = parameter.offset + parameter.elements;
    EXPECT_LE(next, bucket.offset + bucket.elements) << parameter.name;
  }
}

TEST(Parameters, PartsOfAllTensorRanksMakeUpTheWholeVocabulary) {
  int64_t covered = 0;
  for (int rank = 0; rank < 4; ++rank) {
    const ParameterLayout layout = lay_out_parameters(small_model(), whole_model(rank, 4), 1);
    const ParameterPart& part = layout.find("embedding").parts[0];
    EXPECT_EQ(part.shard_size, 26);
    EXPECT_EQ(part.shard_begin, covered);
    covered += part.shard_real;
  }
  EXPECT_EQ(covered, 101);
}

TEST(Parameters, InitialValuesDoNotDependOnTheLayout) {
  const ParameterStore whole = initialised(small_model(), whole_model());
  for (int rank = 0; rank < 2; ++rank) {
    const ParameterStore part =
        initialised(small_model(), {.chunks = {{.first_layer = 1, .layers = 2, .has_head = true}},
                                    .tensor_rank = rank,
                                    .tensor_size = 2});
    const auto of = [](const ParameterStore& store, const char* name) { return store.view(name).value; };
    const at::Tensor down = of(whole, "layers.2.down");
    EXPECT_TRUE(at::equal(of(part, "layers.2.down"), down.narrow(1, rank * 36, 36)));
    const at::Tensor up = of(whole, "layers.1.gate_up").narrow(0, 72, 72);
    EXPECT_TRUE(at::equal(of(part, "layers.1.gate_up").narrow(0, 36, 36), up.narrow(0, rank * 36, 36)));
    const int64_t real = rank == 0 ? 51 : 50;
    EXPECT_TRUE(at::equal(of(part, "head").narrow(0, 0, real), of(whole, "head").narrow(0, rank * 51, real)));
  }
}

TEST(Parameters, VocabularyPaddingIsZero) {
  const ParameterStore last = initialised(small_model(), whole_model(3, 4));
  const at::Tensor padding = last.view("embedding").value.narrow(0, 23, 3);
  EXPECT_TRUE(at::equal(padding, at::zeros_like(padding)));
}

TEST(Parameters, ResidualBranchesStartSmaller) {
  const ParameterStore store = initialised(small_model(), whole_model());
  EXPECT_NEAR(store.view("layers.0.qkv").value.std().item<double>(), 0.02, 0.001);
  EXPECT_NEAR(store.view("layers.0.down").value.std().item<double>(), 0.02 / std::sqrt(6.0), 0.0005);
  EXPECT_EQ(store.view("layers.0.mlp_norm").value.min().item<float>(), 1);
}

TEST(Parameters, TiedStagesStartWithTheSameTable) {
  planner::ModelShape model = small_model();
  model.tied_embeddings = true;
  const ParameterStore first = initialised(model, {.chunks = {{.layers = 2, .has_embedding = true}}});
  const ParameterStore last =
      initialised(model, {.chunks = {{.first_layer = 2, .layers = 1, .has_head = true}}});
  EXPECT_TRUE(at::equal(first.view("embedding").value, last.view("head").value));
  EXPECT_TRUE(first.layout.find("embedding").tied_copy);
  EXPECT_TRUE(last.layout.find("head").tied_copy);
  const ParameterStore one_stage = initialised(model, whole_model());
  EXPECT_FALSE(one_stage.layout.find("embedding").tied_copy);
  EXPECT_THROW(one_stage.view("head"), std::out_of_range);
}

TEST(Parameters, ChunksWithBothEndsShareATiedTable) {
  planner::ModelShape model = small_model();
  model.tied_embeddings = true;
  const ParameterStore store = initialised(
      model,
      {.chunks = {{.layers = 1, .has_embedding = true}, {.first_layer = 2, .layers = 1, .has_head = true}}});
  EXPECT_FALSE(store.layout.find("embedding").tied_copy);
  EXPECT_FALSE(store.layout.has("head"));
  EXPECT_TRUE(store.layout.has("layers.0.qkv"));
  EXPECT_FALSE(store.layout.has("layers.1.qkv"));
  EXPECT_TRUE(store.layout.has("layers.2.qkv"));
}

}  // namespace
}  // namespace caravan::trainer
