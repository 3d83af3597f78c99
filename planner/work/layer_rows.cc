// The rows of one transformer layer: worker/trainer/model/layer.cc.
#include <algorithm>

#include "planner/work/block_sizes.h"
#include "planner/work/blocks.h"
#include "planner/work/row_builder.h"

namespace caravan::planner {
namespace {

class LayerRows : public RowBuilder {
 public:
  explicit LayerRows(const StageShape& stage) : RowBuilder(stage), stage_(stage) {}

  void attention_to_middle() {
    add({.name = "attention_norm.scale",
         .makes = SavedRow::AttentionScale,
         .moved = size.statistics,
         .takes = {.activations = size.statistics}});
    norm("attention_norm.output", Phase::Forward, SavedRow::QueryKeyValue);
    add({.name = "query_key_value",
         .makes = SavedRow::QueryKeyValue,
         .product = forward(size.fused_heads, size.hidden),
         .moved = size.qkv,
         .takes = {.activations = size.qkv},
         .frees = normed()});
    attention_forward();
    add({.name = "attention.projection",
         .makes = SavedRow::Middle,
         .product = forward(size.hidden, size.heads),
         .moved = size.full_hidden,
         .takes = {.activations = size.full_hidden}});
    leave("attention.leave", Phase::Forward, SavedRow::Middle);
  }

  void middle_to_gate_up() {
    add({.name = "mlp_norm.scale",
         .makes = SavedRow::MlpScale,
         .moved = size.statistics,
         .takes = {.activations = size.statistics}});
    norm("mlp_norm.output", Phase::Forward, SavedRow::GateUp);
    add({.name = "gate_up",
         .makes = SavedRow::GateUp,
         .product = forward(2 * size.ffn, size.hidden),
         .moved = size.gate_up,
         .takes = {.activations = size.gate_up},
         .frees = normed()});
  }

  void output() {
    add({.name = "swiglu", .moved = size.gated, .takes = {.workspace = size.gated}});
    add({.name = "down",
         .product = forward(size.hidden, size.ffn),
         .moved = size.full_hidden,
         .takes = {.activations = size.full_hidden},
         .frees = {.workspace = size.gated}});
    leave("down.leave", Phase::Forward);
  }

  // Alive: the gradient by the output, the middle, its norm's scale, the gates. Left: that by the middle.
  void mlp_backward() {
    enter_gradient("down.enter_gradient");
    add({.name = "down.by_input",
         .phase = Phase::Backward,
         .product = by_input(size.hidden, size.ffn),
         .moved = size.gated,
         .takes = {.activations = size.gated}});
    add({.name = "swiglu.backward", .phase = Phase::Backward, .moved = size.gate_up});
    by_weight("down.by_weight", size.hidden, size.ffn, size.full_hidden + size.gated,
              MemoryUse{.activations = size.gated} + entered());
    may_wait([&] {
      norm("mlp_norm.output_again", Phase::WeightGradient);
      by_weight("gate_up.by_weight", 2 * size.ffn, size.hidden, size.gate_up, normed());
    });
    add({.name = "gate_up.by_input",
         .phase = Phase::Backward,
         .product = by_input(2 * size.ffn, size.hidden),
         .moved = size.full_hidden,
         .takes = {.activations = size.full_hidden},
         .frees = {.activations = size.gate_up},
         .waits = {.activations = size.gate_up}});
    leave("gate_up.leave_gradient", Phase::Backward);
    norm_backward("mlp_norm.backward");
  }

  // Alive: the gradient by the middle and what attention saved. Left: the gradient by the input.
  void attention_backward() {
    enter_gradient("attention.enter_gradient");
    by_weight("attention.projection.by_weight", size.hidden, size.heads, size.full_hidden + size.attention,
              {});
    add({.name = "attention.projection.by_input",
         .phase = Phase::Backward,
         .product = by_input(size.hidden, size.heads),
         .moved = size.attention,
         .takes = {.activations = size.attention},
         .frees = entered()});
    add({.name = "attention.backward",
         .phase = Phase::Backward,
         .attention = attention(/*products=*/5),
         .moved = size.qkv,
         .takes = {.activations = size.lent_gradients},
         .moment = {.workspace = attention_gradients()},
         .frees = {.activations = 2 * size.attention + size.log_sums + size.borrowed_gradients}});
    may_wait([&] {
      norm("attention_norm.output_again", Phase::WeightGradient);
      by_weight("query_key_value.by_weight", size.fused_heads, size.hidden, size.qkv, normed());
    });
    add({.name = "query_key_value.by_input",
         .phase = Phase::Backward,
         .product = by_input(size.fused_heads, size.hidden),
         .moved = size.full_hidden,
         .takes = {.activations = size.full_hidden},
         .frees = {.activations = size.qkv},
         .waits = {.activations = size.qkv}});
    leave("query_key_value.leave_gradient", Phase::Backward);
    norm_backward("attention_norm.backward");
  }

 private:
  // The gradient that came by the residual takes this one in; the norm's input and scale are done with,
  // unless gradients of weights wait that take the normed activation.
  void norm_backward(std::string_view name) {
    const int64_t input = size.local_hidden + size.statistics;
    add({.name = name,
         .phase = Phase::Backward,
         .moved = size.local_hidden,
         .moment = {.workspace = size.norm_gradient},
         .frees = {.activations = size.local_hidden + input},
         .waits = {.activations = input}});
  }

  // The libraries of GPUs know attention in bf16 alone, with heads of up to 256 and in steps of 8; what
  // stands in for it has all scores at once (worker/trainer/device/cuda/plain_attention.cc).
  bool has_all_scores() const {
    if (!stage_.gpu) return false;
    const int64_t head = stage_.model.head_dim;
    return stage_.storage != ElementType::BF16 || head % 8 != 0 || head > 256;
  }

  // Keys and values of all segments in one piece, as plain products take them, and the library of a GPU for
  // segments behind the first one (worker/trainer/device/cuda/library_attention.cc).
  int64_t joined_keys_and_values() const {
    const bool joins = stage_.gpu && (stage_.tokens_before() > 0 || has_all_scores());
    return joins ? of_all_segments(size.keys_and_values) : 0;
  }

  // Of every query and key, for each query head.
  int64_t scores() const { return of_all_segments(size.log_sums) * stage_.tokens_at_work(); }

  // Beside the output and the logarithms: scores, and those less their greatest; or weights, with the output
  // once more, by key heads.
  int64_t attention_results() const {
    if (!has_all_scores()) return joined_keys_and_values();
    return joined_keys_and_values() +
           std::max(2 * scores() + size.log_sums - size.attention, scores() + size.attention);
  }

  // Sums of the queries' gradients and a number for each query and head. The library of a GPU gives those of
  // queries, keys and values; of a segment behind the first one for all keys, which it adds up from those of
  // each query head. Plain products have weights and their gradients, and queries by key heads.
  int64_t attention_gradients() const {
    const int64_t sums = size.attention / size.element * size.wide + size.log_sums;
    if (!stage_.gpu) return sums;
    if (has_all_scores()) return 2 * scores() + 2 * joined_keys_and_values() + sums + size.attention;
    if (stage_.tokens_before() == 0) return size.qkv;
    const bool shares_keys = stage_.model.kv_heads < stage_.model.heads;
    const int64_t by_heads = shares_keys ? 2 * of_all_segments(size.attention) : 0;
    return sums + size.attention + 2 * joined_keys_and_values() + by_heads;
  }

  // What has these bytes of the tokens at work, of those before them, too.
  int64_t of_all_segments(int64_t bytes) const {
    return bytes / stage_.tokens_at_work() * (stage_.tokens_before() + stage_.tokens_at_work());
  }

  void attention_forward() {
    const int64_t results = size.attention + size.log_sums;
    add({.name = "attention",
         .makes = SavedRow::AttentionOutput,
         .attention = attention(/*products=*/2),
         .moved = results,
         .takes = {.activations = results},
         .moment = {.activations = attention_results()}});
  }

  Attention attention(int64_t products) const {
    return {.sequences = stage_.micro_batch_size,
            .tokens = stage_.tokens_at_work(),
            .earlier = stage_.tokens_before(),
            .heads = stage_.model.heads / stage_.tensor,
            .head_dim = stage_.model.head_dim,
            .products = products};
  }

  const StageShape& stage_;
};

SavedTensor saved(SavedRow row, std::string_view name, std::vector<int64_t> shape, ElementType type) {
  int64_t bytes = bytes_of(type);
  for (const int64_t extent : shape) bytes *= extent;
  return {.row = row, .name = name, .shape = std::move(shape), .type = type, .bytes = bytes};
}

}  // namespace

std::vector<SavedTensor> saved_tensors(const StageShape& stage) {
  const BlockSizes size(stage);
  const ElementType type = stage.storage;
  const ElementType wide = type == ElementType::FP64 ? ElementType::FP64 : ElementType::FP32;
  return {
      saved(SavedRow::Input, "input", {size.local_tokens, size.hidden}, type),
      saved(SavedRow::AttentionScale, "attention_norm.scale", {size.local_tokens}, wide),
      saved(SavedRow::QueryKeyValue, "query_key_value", {size.tokens, size.fused_heads}, type),
      saved(SavedRow::AttentionOutput, "attention.output", {size.tokens, size.heads}, type),
      saved(SavedRow::LogSums, "attention.log_sums", {size.tokens, stage.model.heads / stage.tensor}, wide),
      saved(SavedRow::Middle, "middle", {size.local_tokens, size.hidden}, type),
      saved(SavedRow::MlpScale, "mlp_norm.scale", {size.local_tokens}, wide),
      saved(SavedRow::GateUp, "gate_up", {size.tokens, 2 * size.ffn}, type)};
}

Operations layer_forward(const StageShape& stage) {
  LayerRows rows(stage);
  rows.attention_to_middle();
  rows.middle_to_gate_up();
  rows.output();
  return rows.take();
}

std::vector<SavedTensor> saved_at_ends(const StageShape& stage) {
  const BlockSizes size(stage);
  std::vector<SavedTensor> rows;
  if (stage.has_embedding)
    rows.push_back(saved(SavedRow::Tokens, "tokens", {stage.micro_batch_size, stage.tokens_at_work()},
                         ElementType::INT64));
  if (stage.has_head)
    rows.push_back(saved(SavedRow::HeadGradient, "head.input_gradient", {size.local_tokens, size.hidden},
                         stage.storage));
  return rows;
}

Operations layer_recompute(const Operations& forward, RecomputedPart part) {
  Operations rows;
  rows.reserve(forward.size());
  for (const Operation& row : forward) {
    if (!row.makes || !is_made_again(*row.makes, part)) continue;
    rows.push_back(row);
    rows.back().phase = Phase::Recompute;
  }
  return rows;
}

Operations layer_backward(const StageShape& stage) {
  LayerRows rows(stage);
  rows.mlp_backward();
  rows.attention_backward();
  return rows.take();
}

Operations layer_backward_input(const Operations& backward) {
  Operations rows;
  rows.reserve(backward.size());
  for (const Operation& row : backward) {
    if (row.may_wait) continue;
    rows.push_back(row);
    rows.back().frees = row.frees - row.waits;
  }
  return rows;
}

Operations layer_backward_weight(const Operations& backward) {
  Operations rows;
  rows.reserve(backward.size());
  for (const Operation& row : backward) {
    if (row.may_wait) {
      rows.push_back(row);
    } else if (!rows.empty()) {
      rows.back().frees += row.waits;  // of the gradient before it
    }
  }
  return rows;
}

}  // namespace caravan::planner
