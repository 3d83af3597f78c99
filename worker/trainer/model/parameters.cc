#include "worker/trainer/model/parameters.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "planner/work/constants.h"
#include "worker/trainer/kernels/storage_type.h"

namespace caravan::trainer {
namespace {

using planner::kParameterAlignment;
using planner::round_up;

constexpr double kStandardDeviation = 0.02;

int64_t product(const std::vector<int64_t>& shape) {
  return std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
}

class LayoutBuilder {
 public:
  LayoutBuilder(const planner::ModelShape& model, const StagePlacement& placement, int64_t padding)
      : model_(model), placement_(placement), padding_(padding) {}

  ParameterLayout build() {
    for (const planner::LayerGroup& chunk : placement_.chunks) {
      if (chunk.has_embedding) add_embedding();
      for (int i = 0; i < chunk.layers; ++i) add_layer(chunk.first_layer + i);
      if (chunk.has_head) add_head();
    }
    return std::move(layout_);
  }

 private:
  void add_embedding() {
    open_bucket("embedding");
    Parameter table =
        matrix("embedding", {cut("model.embed_tokens.weight", {model_.vocab, model_.hidden}, 0)});
    table.tied_copy = model_.tied_embeddings && !placement_.has_head();
    add(std::move(table));
    close_bucket();
  }

  void add_layer(int layer) {
    const std::string ours = fmt::format("layers.{}.", layer);
    const std::string theirs = fmt::format("model.layers.{}.", layer);
    const int64_t hidden = model_.hidden;
    const int64_t query = model_.heads * model_.head_dim;
    const int64_t key = model_.kv_heads * model_.head_dim;
    // Residual branches add up: their last matrices start smaller, as in GPT-2.
    const double output_deviation = kStandardDeviation / std::sqrt(2.0 * static_cast<double>(model_.layers));

    open_bucket(fmt::format("layers.{}", layer));
    add(norm(ours + "attention_norm", theirs + "input_layernorm.weight"));
    add(matrix(ours + "qkv", {cut(theirs + "self_attn.q_proj.weight", {query, hidden}, 0),
                              cut(theirs + "self_attn.k_proj.weight", {key, hidden}, 0),
                              cut(theirs + "self_attn.v_proj.weight", {key, hidden}, 0)}));
    add(matrix(ours + "output", {cut(theirs + "self_attn.o_proj.weight", {hidden, query}, 1)},
               output_deviation));
    add(norm(ours + "mlp_norm", theirs + "post_attention_layernorm.weight"));
    add(matrix(ours + "gate_up", {cut(theirs + "mlp.gate_proj.weight", {model_.ffn, hidden}, 0),
                                  cut(theirs + "mlp.up_proj.weight", {model_.ffn, hidden}, 0)}));
    add(matrix(ours + "down", {cut(theirs + "mlp.down_proj.weight", {hidden, model_.ffn}, 1)},
               output_deviation));
    close_bucket();
  }

  void add_head() {
    open_bucket("final_norm");
    add(norm("final_norm", "model.norm.weight"));
    close_bucket();
    if (model_.tied_embeddings && placement_.has_embedding()) return;
    const char* name = model_.tied_embeddings ? "model.embed_tokens.weight" : "lm_head.weight";
    open_bucket("head");
    Parameter table = matrix("head", {cut(name, {model_.vocab, model_.hidden}, 0)});
    table.tied_copy = model_.tied_embeddings;
    add(std::move(table));
    close_bucket();
  }

  ParameterPart cut(std::string name, std::vector<int64_t> full_shape, int dimension) const {
    const int64_t full = full_shape[dimension];
    const int64_t size = (full + placement_.tensor_size - 1) / placement_.tensor_size;
    const int64_t begin = size * placement_.tensor_rank;
    return {.name = std::move(name),
            .full_shape = std::move(full_shape),
            .shard_dimension = dimension,
            .shard_begin = begin,
            .shard_size = size,
            .shard_real = std::clamp<int64_t>(full - begin, 0, size)};
  }

  Parameter norm(std::string name, std::string part_name) const {
    return {.name = std::move(name),
            .shape = {model_.hidden},
            .parts = {{.name = std::move(part_name), .full_shape = {model_.hidden}}},
            .initialisation = Initialisation::One,
            .weight_decay = false,
            .replicated_over_tensor = placement_.tensor_size > 1};
  }

  static Parameter matrix(std::string name, std::vector<ParameterPart> parts,
                          double deviation = kStandardDeviation) {
    int64_t rows = 0;
    for (const ParameterPart& part : parts) rows += part.local_shape()[0];
    const int64_t columns = parts[0].local_shape()[1];
    return {.name = std::move(name),
            .shape = {rows, columns},
            .parts = std::move(parts),
            .standard_deviation = deviation};
  }

  void open_bucket(std::string name) {
    layout_.buckets.push_back({.name = std::move(name), .offset = layout_.elements});
  }

  void add(Parameter parameter) {
    parameter.bucket = static_cast<int>(layout_.buckets.size()) - 1;
    parameter.offset = layout_.elements;
    parameter.elements = product(parameter.shape);
    layout_.elements += round_up(parameter.elements, kParameterAlignment);
    layout_.parameters.push_back(std::move(parameter));
  }

  void close_bucket() {
    Bucket& bucket = layout_.buckets.back();
    bucket.elements = round_up(layout_.elements - bucket.offset, std::lcm(padding_, kParameterAlignment));
    layout_.elements = bucket.offset + bucket.elements;
  }

  const planner::ModelShape& model_;
  const StagePlacement& placement_;
  const int64_t padding_;
  ParameterLayout layout_;
};

}  // namespace

bool StagePlacement::has_embedding() const {
  return std::ranges::any_of(chunks, &planner::LayerGroup::has_embedding);
}

bool StagePlacement::has_head() const {
  return std::ranges::any_of(chunks, &planner::LayerGroup::has_head);
}

std::vector<int64_t> ParameterPart::local_shape() const {
  std::vector<int64_t> shape = full_shape;
  if (shard_dimension >= 0) shape[shard_dimension] = shard_size;
  return shape;
}

bool ParameterLayout::has(std::string_view name) const {
  return std::ranges::find(parameters, name, &Parameter::name) != parameters.end();
}

const Parameter& ParameterLayout::find(std::string_view name) const {
  const auto found = std::ranges::find(parameters, name, &Parameter::name);
  if (found == parameters.end()) throw std::out_of_range(fmt::format("this stage has no parameter {}", name));
  return *found;
}

ParameterLayout lay_out_parameters(const planner::ModelShape& model, const StagePlacement& placement,
                                   int64_t padding) {
  return LayoutBuilder(model, placement, padding).build();
}

at::Tensor ParameterStore::value(const Parameter& parameter) const {
  return values.narrow(0, parameter.offset, parameter.elements).view(parameter.shape);
}

at::Tensor ParameterStore::gradient(const Parameter& parameter) const {
  return gradients.narrow(0, parameter.offset, parameter.elements).view(parameter.shape);
}

ParameterView ParameterStore::view(std::string_view name) const {
  const Parameter& parameter = layout.find(name);
  return {.value = value(parameter), .gradient = gradients.defined() ? gradient(parameter) : at::Tensor()};
}

// Zeros, also between the parameters, so that sums and norms over whole buckets are right.
ParameterStore allocate_values(ParameterLayout layout, const at::TensorOptions& storage) {
  const int64_t elements = layout.elements;
  return {.layout = std::move(layout), .values = at::zeros({elements}, storage), .gradients = {}};
}

void allocate_gradients(ParameterStore& store) {
  const at::ScalarType wide = kernels::wide_type(store.values.scalar_type());
  store.gradients = at::zeros({store.layout.elements}, store.values.options().dtype(wide));
}

}  // namespace caravan::trainer
