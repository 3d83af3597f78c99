#include "planner/memory/block_table.h"

#include <utility>

#include "planner/memory/block_sizes.h"

namespace caravan::planner {
namespace {

SavedTensor row(std::string name, std::vector<int64_t> shape, ElementType type, SavePolicy policy) {
  int64_t bytes = bytes_of(type);
  for (const int64_t size : shape) bytes *= size;
  return {.name = std::move(name), .shape = std::move(shape), .type = type, .bytes = bytes, .policy = policy};
}

ElementType wide_type(ElementType storage) {
  return storage == ElementType::FP64 ? ElementType::FP64 : ElementType::FP32;
}

}  // namespace

std::vector<SavedTensor> layer_table(const StageShape& stage) {
  const BlockSizes sizes(stage);
  const ModelShape& model = stage.model;
  const ElementType type = stage.storage;
  const ElementType wide = wide_type(type);
  const SavePolicy inner = stage.activation_checkpointing ? SavePolicy::Recompute : SavePolicy::Keep;
  const SavePolicy cheap = SavePolicy::Recompute;  // one pass over what is kept brings it back
  return {
      row("input", {sizes.local_tokens, model.hidden}, type, SavePolicy::Keep),
      row("attention_norm.scale", {sizes.local_tokens}, wide, inner),
      row("attention_norm.output", {sizes.tokens, model.hidden}, type, cheap),
      row("query_key_value", {sizes.tokens, sizes.fused_heads}, type, inner),
      row("attention.output", {sizes.tokens, sizes.heads}, type, inner),
      row("attention.log_sums", {sizes.tokens, model.heads / stage.tensor}, wide, inner),
      row("middle", {sizes.local_tokens, model.hidden}, type, inner),
      row("mlp_norm.scale", {sizes.local_tokens}, wide, inner),
      row("mlp_norm.output", {sizes.tokens, model.hidden}, type, cheap),
      row("gate_up", {sizes.tokens, 2 * sizes.ffn}, type, inner),
      row("gated", {sizes.tokens, sizes.ffn}, type, cheap),
  };
}

std::vector<SavedTensor> stage_ends_table(const StageShape& stage) {
  const BlockSizes sizes(stage);
  std::vector<SavedTensor> rows;
  if (stage.has_embedding)
    rows.push_back(
        row("tokens", {stage.micro_batch_size, stage.sequence_length}, ElementType::INT64, SavePolicy::Keep));
  if (stage.has_head)
    rows.push_back(row("head.input_gradient", {sizes.local_tokens, stage.model.hidden}, stage.storage,
                       SavePolicy::Keep));
  return rows;
}

}  // namespace caravan::planner
