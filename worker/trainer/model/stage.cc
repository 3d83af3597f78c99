#include "worker/trainer/model/stage.h"

#include <optional>
#include <utility>

#include "worker/trainer/kernels/embedding.h"
#include "worker/trainer/kernels/rope.h"
#include "worker/trainer/model/head.h"
#include "worker/trainer/model/layer.h"
#include "worker/trainer/model/tensor_region.h"

namespace caravan::trainer {

void run_all(WeightGradientQueue queue) {
  for (std::function<void()>& gradient : queue) std::exchange(gradient, {})();
}

namespace {

struct SegmentSaved {
  at::Tensor tokens_T{};  // with the embedding
  std::vector<LayerSaved> layers{};
  at::Tensor head_input_gradient_TD{};  // with the head
};

}  // namespace

struct StageSaved {
  int chunk = 0;
  std::size_t begun = 0;                               // segments that have had a forward
  std::vector<SegmentSaved> segments{};                // that wait for their backward
  std::vector<kernels::AttentionHistory> histories{};  // by layer
};

namespace {

struct Chunk {
  planner::LayerGroup group;
  std::vector<Layer> layers{};
  std::optional<Head> head{};
};

// What the head has for itself: its norm and, unless it shares the embedding's, its table. A shared one was
// read and will be added to by the chunk with the embedding.
std::vector<int> find_head_buckets(const ParameterLayout& layout) {
  std::vector<int> buckets{layout.find("final_norm").bucket};
  if (layout.has("head")) buckets.push_back(layout.find("head").bucket);
  return buckets;
}

std::shared_ptr<StageSaved> begin_saving(int number, const Chunk& chunk) {
  return std::make_shared<StageSaved>(
      StageSaved{.chunk = number, .histories = std::vector<kernels::AttentionHistory>(chunk.layers.size())});
}

}  // namespace

struct Stage::Implementation {
  Implementation(StageOptions stage_options, ParameterStore& store, Communicator& tensor_group,
                 BucketHooks bucket_hooks)
      : options(std::move(stage_options)),
        hooks(std::move(bucket_hooks)),
        region(tensor_group, options.sequence_parallel) {
    rope_table_SK = kernels::rope_table(options.model, options.sequence_length, options.storage)
                        .to(store.values.device());
    for (const planner::LayerGroup& group : options.placement.chunks) add_chunk(group, store);
    if (!options.placement.has_embedding()) return;
    const Parameter& table = store.layout.find("embedding");
    embedding_VD = store.view(table.name);
    embedding_bucket = table.bucket;
    first_token = table.parts[0].shard_begin;
  }

  void add_chunk(const planner::LayerGroup& group, ParameterStore& store) {
    Chunk& chunk = chunks.emplace_back(Chunk{.group = group});
    chunk.layers.reserve(static_cast<std::size_t>(group.layers));
    for (int i = 0; i < group.layers; ++i)
      chunk.layers.emplace_back(store, group.first_layer + i, layer_settings(), region);
    if (!group.has_head) return;
    chunk.head.emplace(store, options.model, region, options.on_gpu);
    head_buckets = find_head_buckets(store.layout);
  }

  void before_read(int bucket) const {
    if (hooks.before_read) hooks.before_read(bucket);
  }

  // With a queue when that has come to it.
  void after_add(int bucket, WeightGradientQueue* queue) const {
    if (!hooks.after_add) return;
    if (queue == nullptr) return hooks.after_add(bucket);
    queue->push_back([this, bucket] { hooks.after_add(bucket); });
  }

  Layer::Settings layer_settings() const {
    const planner::ModelShape& model = options.model;
    return {.norm_eps = model.norm_eps,
            .attention = {.sequences = options.micro_batch_size,
                          .heads = model.heads / options.placement.tensor_size,
                          .kv_heads = model.kv_heads / options.placement.tensor_size,
                          .head_dim = model.head_dim},
            .rope_table_SK = rope_table_SK};
  }

  at::Tensor embed(const at::Tensor& tokens_T) const {
    before_read(embedding_bucket);
    return region.leave(kernels::embedding_forward(tokens_T, embedding_VD.value, first_token));
  }

  void embed_backward(const at::Tensor& tokens_T, at::Tensor gradient_TD) const {
    at::Tensor table_gradient = embedding_VD.gradient;
    kernels::embedding_backward(region.enter(std::move(gradient_TD)), tokens_T, table_gradient, first_token);
    after_add(embedding_bucket, nullptr);
  }

  // The forward of the next segment; whether others follow it.
  bool begin_segment(StageSaved& saved) const { return ++saved.begun < options.segments.size(); }

  StageOptions options;
  BucketHooks hooks;
  TensorRegion region;
  at::Tensor rope_table_SK;
  std::vector<Chunk> chunks;
  std::vector<int> head_buckets;
  ParameterView embedding_VD;
  int embedding_bucket = 0;
  int64_t first_token = 0;
};

Stage::Stage(StageOptions options, ParameterStore& store, Communicator& tensor_group, BucketHooks hooks)
    : implementation_(
          std::make_unique<Implementation>(std::move(options), store, tensor_group, std::move(hooks))) {}

Stage::~Stage() = default;

StageOutput Stage::forward(int chunk_number, const TokenBatch& batch, at::Tensor activations_TD,
                           std::shared_ptr<StageSaved> earlier) {
  const Implementation& stage = *implementation_;
  const Chunk& chunk = stage.chunks[chunk_number];
  std::shared_ptr<StageSaved> all = earlier ? std::move(earlier) : begin_saving(chunk_number, chunk);
  const bool others_follow = stage.begin_segment(*all);
  SegmentSaved& saved = all->segments.emplace_back();
  at::Tensor x_TD = std::move(activations_TD);
  if (chunk.group.has_embedding) {
    saved.tokens_T = batch.inputs_BS.flatten();
    x_TD = stage.embed(saved.tokens_T);
  }
  for (std::size_t i = 0; i < chunk.layers.size(); ++i) {
    const Layer& layer = chunk.layers[i];
    stage.before_read(layer.bucket());
    LayerSaved layer_saved = layer.run_to_saved(std::move(x_TD), all->histories[i]);
    x_TD = layer.output(layer_saved);
    const bool is_dropped = i < static_cast<std::size_t>(chunk.group.recomputed_layers);
    if (others_follow) {
      const bool stays = !is_dropped || stage.options.recomputed_part == planner::RecomputedPart::Mlp;
      const at::Tensor kv_TC = layer.keys_and_values(layer_saved);
      all->histories[i].add(stays ? kv_TC : kv_TC.clone());
    }
    if (is_dropped) layer_saved.drop(stage.options.recomputed_part);
    saved.layers.push_back(std::move(layer_saved));
  }
  if (!chunk.head) return {.activations_TD = std::move(x_TD), .saved = std::move(all)};
  for (const int bucket : stage.head_buckets) stage.before_read(bucket);
  HeadOutput end =
      chunk.head->forward_and_backward(std::move(x_TD), batch.targets_BS.flatten(), batch.loss_scale);
  saved.head_input_gradient_TD = std::move(end.gradient_TD);
  for (const int bucket : stage.head_buckets) stage.after_add(bucket, nullptr);
  return {.loss_sum = std::move(end.loss_sum), .saved = std::move(all)};
}

StageOutput Stage::evaluate(int chunk_number, const TokenBatch& batch, at::Tensor activations_TD,
                            std::shared_ptr<StageSaved> earlier) {
  const Implementation& stage = *implementation_;
  const Chunk& chunk = stage.chunks[chunk_number];
  std::shared_ptr<StageSaved> all = earlier ? std::move(earlier) : begin_saving(chunk_number, chunk);
  const bool others_follow = stage.begin_segment(*all);
  at::Tensor x_TD = std::move(activations_TD);
  if (chunk.group.has_embedding) x_TD = stage.embed(batch.inputs_BS.flatten());
  for (std::size_t i = 0; i < chunk.layers.size(); ++i) {
    const Layer& layer = chunk.layers[i];
    stage.before_read(layer.bucket());
    const LayerSaved layer_saved = layer.run_to_saved(std::move(x_TD), all->histories[i]);
    x_TD = layer.output(layer_saved);
    if (others_follow) all->histories[i].add(layer.keys_and_values(layer_saved).clone());
  }
  if (!chunk.head) return {.activations_TD = std::move(x_TD), .saved = std::move(all)};
  for (const int bucket : stage.head_buckets) stage.before_read(bucket);
  return {.loss_sum = chunk.head->forward(std::move(x_TD), batch.targets_BS.flatten()),
          .saved = std::move(all)};
}

at::Tensor Stage::backward(const std::shared_ptr<StageSaved>& saved, at::Tensor gradient_TD,
                           WeightGradientQueue* queue) {
  const Implementation& stage = *implementation_;
  const Chunk& chunk = stage.chunks[saved->chunk];
  SegmentSaved segment = std::move(saved->segments.back());
  saved->segments.pop_back();
  if (chunk.head) gradient_TD = std::move(segment.head_input_gradient_TD);
  for (std::size_t i = chunk.layers.size(); i-- > 0;) {
    LayerSaved layer_saved = std::move(segment.layers.back());
    segment.layers.pop_back();
    gradient_TD =
        chunk.layers[i].backward(std::move(layer_saved), std::move(gradient_TD), saved->histories[i], queue);
    stage.after_add(chunk.layers[i].bucket(), queue);
  }
  if (!chunk.group.has_embedding) return gradient_TD;
  stage.embed_backward(segment.tokens_T, std::move(gradient_TD));
  return {};
}

std::vector<int64_t> Stage::boundary_shape(int segment) const {
  const StageOptions& options = implementation_->options;
  const int64_t length = options.segments.empty() ? options.sequence_length : options.segments[segment];
  const int64_t tokens = options.micro_batch_size * length;
  return {options.sequence_parallel ? tokens / options.placement.tensor_size : tokens, options.model.hidden};
}

}  // namespace caravan::trainer
