#include "worker/trainer/generate/decoder.h"

#include <ATen/ops/empty.h>

#include <algorithm>

#include "planner/work/stage_footprint.h"
#include "worker/trainer/kernels/embedding.h"
#include "worker/trainer/kernels/rope.h"
#include "worker/trainer/kernels/storage_type.h"

namespace caravan::trainer {
namespace {

Layer::Settings layer_settings(const planner::ModelShape& model, const at::Tensor& rope_table_SK) {
  return {.norm_eps = model.norm_eps,
          .attention = {.sequences = 1,
                        .heads = model.heads,
                        .kv_heads = model.kv_heads,
                        .head_dim = model.head_dim},
          .rope_table_SK = rope_table_SK};
}

at::Tensor as_tensor(std::span<const int64_t> tokens) {
  at::Tensor tensor_T = at::empty({std::ssize(tokens)}, at::kLong);
  std::ranges::copy(tokens, tensor_T.data_ptr<int64_t>());
  return tensor_T;
}

planner::ElementType stored_as(at::ScalarType storage) {
  if (storage == at::kBFloat16) return planner::ElementType::BF16;
  return storage == at::kDouble ? planner::ElementType::FP64 : planner::ElementType::FP32;
}

// Beside what is there already.
int64_t piece_bytes(const planner::ModelShape& model, at::ScalarType storage) {
  const planner::StageShape piece{.model = model,
                                  .layers = model.layers,
                                  .has_head = false,
                                  .sequence_length = Decoder::kPieceTokens,
                                  .storage = stored_as(storage)};
  return planner::stage_footprint(piece).evaluate.peak.total();
}

}  // namespace

StagePlacement whole_model(const planner::ModelShape& model) {
  return {.chunks = {{.layers = static_cast<int>(model.layers), .has_embedding = true, .has_head = true}}};
}

int64_t decoder_bytes(const planner::ModelShape& model, const ParameterLayout& layout, at::ScalarType storage,
                      int64_t most_tokens) {
  const int64_t cached = 2 * model.layers * model.kv_heads * model.head_dim * most_tokens;
  const int64_t rope_elements = most_tokens * model.head_dim;
  const auto size_of = [](at::ScalarType type) { return static_cast<int64_t>(at::elementSize(type)); };
  return (layout.elements + cached) * size_of(storage) +
         rope_elements * size_of(kernels::wide_type(storage)) + piece_bytes(model, storage);
}

Decoder::Decoder(const planner::ModelShape& model, ParameterStore parameters, int64_t most_tokens)
    : parameters_(std::move(parameters)),
      region_(alone_, /*sequence_parallel=*/false),
      embedding_VD_(parameters_.view("embedding").value),
      head_(parameters_, model, region_) {
  const at::ScalarType storage = parameters_.values.scalar_type();
  const at::TensorOptions options = parameters_.values.options();
  const at::Tensor rope_table_SK = kernels::rope_table(model, most_tokens, storage).to(options.device());
  layers_.reserve(static_cast<std::size_t>(model.layers));
  for (int layer = 0; layer < model.layers; ++layer) {
    layers_.emplace_back(parameters_, layer, layer_settings(model, rope_table_SK), region_);
    cache_NC_.push_back(at::empty({most_tokens, 2 * model.kv_heads * model.head_dim}, options));
  }
}

at::Tensor Decoder::add(std::span<const int64_t> tokens) {
  for (; std::ssize(tokens) > kPieceTokens; tokens = tokens.subspan(kPieceTokens))
    run(tokens.first(kPieceTokens));
  const at::Tensor x_TD = run(tokens);
  return head_.logits(x_TD.narrow(0, x_TD.size(0) - 1, 1)).flatten();
}

// The last layer's output.
at::Tensor Decoder::run(std::span<const int64_t> piece) {
  at::Tensor x_TD = kernels::embedding_forward(as_tensor(piece), embedding_VD_, /*first_token=*/0);
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    const LayerSaved saved = layers_[i].run_to_saved(std::move(x_TD), history_of(i));
    remember(i, layers_[i].keys_and_values(saved));
    x_TD = layers_[i].output(saved);
  }
  tokens_ += std::ssize(piece);
  return x_TD;
}

// All tokens so far as one segment.
kernels::AttentionHistory Decoder::history_of(std::size_t layer) const {
  if (tokens_ == 0) return {};
  return {.kv_TC = {cache_NC_[layer].narrow(0, 0, tokens_)}};
}

void Decoder::remember(std::size_t layer, const at::Tensor& kv_TC) {
  cache_NC_[layer].narrow(0, tokens_, kv_TC.size(0)).copy_(kv_TC);
}

}  // namespace caravan::trainer
