#include "planner/memory/block_table.h"

#include <gtest/gtest.h>

#include <algorithm>

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

int64_t kept_bytes(const std::vector<SavedTensor>& table) {
  int64_t bytes = 0;
  for (const SavedTensor& row : table)
    if (row.policy == SavePolicy::Keep) bytes += row.bytes;
  return bytes;
}

int64_t tokens_bytes(const StageShape& stage) {
  return stage.micro_batch_size * stage.sequence_length * bytes_of(ElementType::INT64);
}

TEST(BlockTable, ALayerKeepsSixHiddenRowsItsHeadsAndItsFfn) {
  const StageShape stage = two_layers();
  const int64_t tokens = 256;
  // input 64, query and output 2 · 64, key and value 2 · 16, middle 64, gate and up 2 · 160; two norms'
  // scales, 8 log sums
  const int64_t per_token = 64 + 2 * 64 + 2 * 16 + 64 + 2 * 160 + 2 + 8;
  EXPECT_EQ(kept_bytes(layer_table(stage)), tokens * per_token * 4);
}

TEST(BlockTable, RowsAddUpToWhatAMicroBatchKeeps) {
  for (const bool checkpointing : {false, true}) {
    for (const bool sequence_parallel : {false, true}) {
      StageShape stage = two_layers();
      stage.tensor = 2;
      stage.activation_checkpointing = checkpointing;
      stage.sequence_parallel = sequence_parallel;
      const int64_t ends = kept_bytes(stage_ends_table(stage)) - tokens_bytes(stage);  // tokens are handed in
      EXPECT_EQ(stage.layers * kept_bytes(layer_table(stage)) + ends, stage_memory(stage).kept);
    }
  }
}

TEST(BlockTable, CheckpointingKeepsALayersInputOnly) {
  StageShape stage = two_layers();
  stage.activation_checkpointing = true;
  EXPECT_EQ(kept_bytes(layer_table(stage)), 256 * 64 * 4);
}

TEST(BlockTable, SequenceParallelismDividesWhatTensorParallelismLeaves) {
  StageShape stage = two_layers();
  stage.tensor = 2;
  const int64_t replicated = stage_memory(stage).boundary;
  stage.sequence_parallel = true;
  EXPECT_EQ(stage_memory(stage).boundary * 2, replicated);
  StageShape one_rank = two_layers();
  EXPECT_EQ(stage_memory(stage).kept * 2, stage_memory(one_rank).kept) << "every kept tensor is cut in two";
}

// A backward gives back what its forward left.
TEST(BlockTable, ForwardAndBackwardBalance) {
  StageShape stage = two_layers();
  EXPECT_EQ(stage_memory(stage).forward.after + stage_memory(stage).backward.after, 0);
  stage.has_embedding = false;
  stage.has_head = false;
  const StageMemory middle = stage_memory(stage);
  EXPECT_EQ(middle.forward.after, middle.kept) << "the output is new, the input was there";
  EXPECT_EQ(middle.backward.after, -middle.kept) << "the input's gradient is new, the output's was there";
}

TEST(BlockTable, OnlyTheStageWithTheHeadHasLogits) {
  StageShape stage = two_layers();
  EXPECT_GT(stage_memory(stage).forward.peak.logits, 0);
  stage.has_head = false;
  EXPECT_EQ(stage_memory(stage).forward.peak.logits, 0);
}

}  // namespace
}  // namespace caravan::planner
