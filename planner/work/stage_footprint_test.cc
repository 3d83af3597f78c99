#include "planner/work/stage_footprint.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string_view>

#include "planner/work/blocks.h"

namespace caravan::planner {
namespace {

StageShape two_layers() {
  StageShape stage;
  stage.model.hidden = 64;
  stage.model.layers = 2;
  stage.model.heads = 8;
  stage.model.kv_heads = 2;
  stage.model.head_dim = 8;
  stage.model.ffn = 160;
  stage.model.vocab = 1000;
  stage.layers = 2;
  stage.micro_batch_size = 2;
  stage.sequence_length = 128;
  return stage;
}

int64_t kept_bytes(const StageShape& stage, const std::vector<SavedTensor>& table) {
  int64_t bytes = 0;
  for (const SavedTensor& tensor : table)
    if (stage.recomputed_layers == 0 || !is_made_again(tensor.row, stage.recomputed_part))
      bytes += tensor.bytes;
  return bytes;
}

int64_t tokens_bytes(const StageShape& stage) {
  return stage.micro_batch_size * stage.sequence_length * bytes_of(ElementType::INT64);
}

TEST(StageFootprint, ALayerKeepsSixHiddenRowsItsHeadsAndItsFfn) {
  const StageShape stage = two_layers();
  const int64_t tokens = 256;
  // input 64, query and output 2 · 64, key and value 2 · 16, middle 64, gate and up 2 · 160; two norms'
  // scales, 8 log sums
  const int64_t per_token = 64 + 2 * 64 + 2 * 16 + 64 + 2 * 160 + 2 + 8;
  EXPECT_EQ(kept_bytes(stage, saved_tensors(stage)), tokens * per_token * 4);
}

TEST(StageFootprint, RowsAddUpToWhatAMicroBatchKeeps) {
  for (const bool checkpointing : {false, true}) {
    for (const bool sequence_parallel : {false, true}) {
      StageShape stage = two_layers();
      stage.tensor = 2;
      stage.recomputed_layers = checkpointing ? 2 : 0;
      stage.sequence_parallel = sequence_parallel;
      const int64_t ends =
          kept_bytes(stage, saved_at_ends(stage)) - tokens_bytes(stage);  // tokens are handed in
      EXPECT_EQ(stage.layers * kept_bytes(stage, saved_tensors(stage)) + ends, stage_footprint(stage).kept);
    }
  }
}

TEST(StageFootprint, CheckpointingKeepsALayersInputOnly) {
  StageShape stage = two_layers();
  stage.recomputed_layers = stage.layers;
  EXPECT_EQ(kept_bytes(stage, saved_tensors(stage)), 256 * 64 * 4);
}

// Each layer that is made again gives back as much, until only inputs are left.
TEST(StageFootprint, EveryLayerThatIsMadeAgainKeepsLess) {
  StageShape stage = two_layers();
  stage.layers = 5;
  int64_t before = stage_footprint(stage).kept;
  const int64_t step = kept_bytes(stage, saved_tensors(stage)) - 256 * 64 * 4;
  for (stage.recomputed_layers = 1; stage.recomputed_layers <= stage.layers; ++stage.recomputed_layers) {
    const StageFootprint footprint = stage_footprint(stage);
    EXPECT_EQ(before - footprint.kept, step);
    EXPECT_EQ(footprint.forward.after.total() + footprint.backward.after.total(), 0);
    before = footprint.kept;
  }
}

TEST(StageFootprint, SequenceParallelismDividesWhatTensorParallelismLeaves) {
  StageShape stage = two_layers();
  stage.tensor = 2;
  const int64_t replicated = stage_footprint(stage).boundary;
  stage.sequence_parallel = true;
  EXPECT_EQ(stage_footprint(stage).boundary * 2, replicated);
  StageShape one_rank = two_layers();
  EXPECT_EQ(stage_footprint(stage).kept * 2, stage_footprint(one_rank).kept)
      << "every kept tensor is cut in two";
}

// A backward gives back what its forward left.
TEST(StageFootprint, ForwardAndBackwardBalance) {
  StageShape stage = two_layers();
  EXPECT_EQ(stage_footprint(stage).forward.after.total() + stage_footprint(stage).backward.after.total(), 0);
  stage.has_embedding = false;
  stage.has_head = false;
  const StageFootprint middle = stage_footprint(stage);
  EXPECT_EQ(middle.forward.after.total(), middle.kept) << "the output is new, the input was there";
  EXPECT_EQ(middle.backward.after.total(), -middle.kept)
      << "the input's gradient is new, the output's was there";
}

TEST(StageFootprint, OnlyTheStageWithTheHeadHasLogits) {
  StageShape stage = two_layers();
  EXPECT_GT(stage_footprint(stage).forward.peak.logits, 0);
  stage.has_head = false;
  EXPECT_EQ(stage_footprint(stage).forward.peak.logits, 0);
}

const Operation& row_of(const Operations& rows, std::string_view name) {
  return *std::ranges::find(rows, name, &Operation::name);
}

// Two sequences of 104 tokens up to the segment's end; two key heads for eight query heads.
TEST(StageFootprint, AttentionOfALaterSegmentNeedsAllKeysInOnePieceOnAGpu) {
  StageShape stage = two_layers();
  stage.storage = ElementType::BF16;
  stage.gpu = true;
  stage.segments = {64, 40, 24};
  EXPECT_EQ(row_of(layer_forward(stage), "attention").moment, MemoryUse());
  stage.segment = 1;
  const int64_t keys_and_values = 2 * 104 * (2 * 2 * 8) * 2;
  const int64_t by_query_heads = 2 * 104 * (2 * 8 * 8) * 2;
  const int64_t queries = 2 * 40 * (8 * 8);
  EXPECT_EQ(row_of(layer_forward(stage), "attention").moment, MemoryUse{.activations = keys_and_values});
  EXPECT_EQ(
      row_of(layer_backward(stage), "attention.backward").moment,
      MemoryUse{.workspace = 2 * keys_and_values + by_query_heads + queries * (2 + 4) + 2 * 40 * 8 * 4});
  stage.gpu = false;
  EXPECT_EQ(row_of(layer_forward(stage), "attention").moment, MemoryUse());
}

// cuDNN and flash take heads in steps of 8, up to 256.
TEST(StageFootprint, OfHeadsThatNoLibraryTakesAllScoresStandAtOnceOnAGpu) {
  StageShape stage = two_layers();
  stage.storage = ElementType::BF16;
  stage.gpu = true;
  const auto needs_scores = [&](int64_t head) {
    stage.model.head_dim = head;
    const int64_t scores = 2 * 8 * 128 * 128 * bytes_of(ElementType::FP32);
    return row_of(layer_forward(stage), "attention").moment.activations >= scores;
  };
  for (const int64_t head : {8, 64, 128, 256}) EXPECT_FALSE(needs_scores(head)) << head;
  for (const int64_t head : {20, 260, 264}) EXPECT_TRUE(needs_scores(head)) << head;
}

}  // namespace
}  // namespace caravan::planner
