#include "planner/memory/activation_coefficients.h"

#include <gtest/gtest.h>

#include "planner/memory/memory_model.h"
#include "planner/testing/jobs.h"

namespace caravan::planner {
namespace {

// 13B of the first Llama: 40 layers, hidden 5120, feed-forward 13824, 32,000 entries.
StageShape thirteen_billion(int64_t tensor, bool sequence_parallel) {
  return {.model = request_of(gpu_job("llama2-13b", 8)).shape,
          .layers = 10,
          .tensor = tensor,
          .sequence_parallel = sequence_parallel,
          .micro_batch_size = 1,
          .sequence_length = 2048,
          .storage = ElementType::BF16};
}

constexpr ActivationCoefficients kFlash = {
    .replicated = 8, .hidden = 12, .ffn = 8, .logits = 14, .gathered_logits = 4, .logits_sharded = false};

TEST(ActivationCoefficients, SequenceParallelismDividesTheReplicatedPart) {
  const int64_t split = 2048LL * (12 * 5120 + 8 * 13824) / 4;
  const int64_t replicated = 2048LL * 8 * 5120;
  EXPECT_EQ(stage_footprint(thirteen_billion(4, false), kFlash).kept, 10 * (split + replicated));
  EXPECT_EQ(stage_footprint(thirteen_billion(4, true), kFlash).kept, 10 * (split + replicated / 4));
}

TEST(ActivationCoefficients, FewerKeyHeadsKeepLess) {
  StageShape grouped = thirteen_billion(1, false);
  grouped.model.kv_heads = grouped.model.heads / 4;
  const int64_t saved =
      stage_footprint(thirteen_billion(1, false), kFlash).kept - stage_footprint(grouped, kFlash).kept;
  EXPECT_EQ(saved, 10 * 2048LL * 5120 * 6 * 3 / 4);
}

TEST(ActivationCoefficients, LogitsAreWholeWhereTheEngineGathersThem) {
  const int64_t entries = 2048LL * 32000;
  EXPECT_EQ(stage_footprint(thirteen_billion(1, false), kFlash).forward.peak.logits, 14 * entries);
  EXPECT_EQ(stage_footprint(thirteen_billion(4, false), kFlash).forward.peak.logits, 15 * entries);
  ActivationCoefficients sharded = kFlash;
  sharded.logits_sharded = true;
  sharded.gathered_logits = 0;
  EXPECT_EQ(stage_footprint(thirteen_billion(4, false), sharded).forward.peak.logits, 14 * entries / 4);
}

TEST(ActivationCoefficients, CheckpointingKeepsInputsAndLivesOneLayerAgain) {
  StageShape stage = thirteen_billion(2, true);
  const int64_t layer = stage_footprint(stage, kFlash).kept / 10;
  stage.recomputed_layers = stage.layers;
  const StageFootprint memory = stage_footprint(stage, kFlash);
  EXPECT_EQ(memory.kept, 10 * 2048LL * 5120 * 2 / 2);
  EXPECT_EQ(memory.backward.peak.activations, layer);
}

TEST(ActivationCoefficients, AnEngineOfCoefficientsIsPredictedByThem) {
  const PlanRequest request = request_of(gpu_job("llama2-13b", 8, "A100-80GB"));
  EngineProfile profile = default_profile();
  profile.activations = kFlash;
  const Layout layout = layout_of(request, 2, 4, 1);
  const MemoryTerms first = predict_stage_memory(request, layout, 0, profile);
  const int64_t tokens = 8192 * 8;
  const int64_t each = 8192LL * (8 * 5120 / 2 + (12 * 5120 + 8 * 13824) / 2);
  EXPECT_EQ(first.activations, tokens + 4 * 10 * each);
  EXPECT_EQ(first.logits, 0);
  EXPECT_EQ(predict_stage_memory(request, layout, 3, profile).logits, 8192LL * 32000 * (14 + 2));
}

}  // namespace
}  // namespace caravan::planner
