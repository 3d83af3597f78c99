#include "tests/numerics/reference_model.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/Reduction.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/nll_loss.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/outer.h>
#include <ATen/ops/pow.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/rsqrt.h>
#include <fmt/format.h>

#include <numbers>

// B batch, S sequence, D hidden, H query heads, G key heads, K head size, V vocabulary

namespace caravan::numerics {
namespace {

at::Tensor project(const at::Tensor& x, const at::Tensor& weight) {
  return at::matmul(x, weight.t());
}

at::Tensor norm(const at::Tensor& x, const at::Tensor& weight, double eps) {
  return x * at::rsqrt(x.square().mean(-1, /*keepdim=*/true) + eps) * weight;
}

at::Tensor frequencies(const planner::ModelShape& model) {
  const at::Tensor exponents =
      at::arange(0, model.head_dim, 2, at::kDouble) / static_cast<double>(model.head_dim);
  const at::Tensor plain = 1.0 / at::pow(model.rope_theta, exponents);
  if (!model.rope_scaling) return plain;
  const planner::RopeScaling& scaling = *model.rope_scaling;
  const at::Tensor waves_in_context =
      static_cast<double>(scaling.original_positions) / (2 * std::numbers::pi / plain);
  const at::Tensor keep = ((waves_in_context - scaling.low_frequency_factor) /
                           (scaling.high_frequency_factor - scaling.low_frequency_factor))
                              .clamp(0, 1);
  return keep * plain + (1 - keep) * plain / scaling.factor;
}

at::Tensor rotate(const at::Tensor& x_BSHK, const planner::ModelShape& model) {
  const at::Tensor positions = at::arange(x_BSHK.size(1), at::kDouble);
  const at::Tensor angles = at::outer(positions, frequencies(model)).unsqueeze(1);
  const auto halves = x_BSHK.chunk(2, -1);
  return at::cat({halves[0] * angles.cos() - halves[1] * angles.sin(),
                  halves[1] * angles.cos() + halves[0] * angles.sin()},
                 -1);
}

at::Tensor attention(const at::Tensor& x_BSD, const NamedTensors& weights, const std::string& prefix,
                     const planner::ModelShape& model) {
  const auto heads = [&](const char* name, int64_t count) {
    return project(x_BSD, weights.at(prefix + name))
        .view({x_BSD.size(0), x_BSD.size(1), count, model.head_dim});
  };
  const int64_t shared_by = model.heads / model.kv_heads;
  const auto to_BHSK = [](const at::Tensor& x_BSHK) { return x_BSHK.transpose(1, 2); };
  const at::Tensor q = to_BHSK(rotate(heads("q_proj.weight", model.heads), model));
  const at::Tensor k =
      to_BHSK(rotate(heads("k_proj.weight", model.kv_heads), model).repeat_interleave(shared_by, 2));
  const at::Tensor v = to_BHSK(heads("v_proj.weight", model.kv_heads).repeat_interleave(shared_by, 2));
  const at::Tensor future = at::ones({x_BSD.size(1), x_BSD.size(1)}, at::kBool).triu(1);
  const at::Tensor scores =
      at::matmul(q, k.transpose(-1, -2)) / std::sqrt(static_cast<double>(model.head_dim));
  const at::Tensor mixed =
      at::matmul(scores.masked_fill(future, -std::numeric_limits<double>::infinity()).softmax(-1), v);
  return project(mixed.transpose(1, 2).flatten(2), weights.at(prefix + "o_proj.weight"));
}

at::Tensor mlp(const at::Tensor& x_BSD, const NamedTensors& weights, const std::string& prefix) {
  const at::Tensor gate = project(x_BSD, weights.at(prefix + "gate_proj.weight"));
  const at::Tensor up = project(x_BSD, weights.at(prefix + "up_proj.weight"));
  return project(gate * gate.sigmoid() * up, weights.at(prefix + "down_proj.weight"));
}

}  // namespace

NamedTensors random_weights(const planner::ModelShape& model, uint64_t seed) {
  auto generator = at::detail::createCPUGenerator(seed);
  NamedTensors weights;
  const auto matrix = [&](const std::string& name, int64_t rows, int64_t columns) {
    weights[name] = at::randn({rows, columns}, generator, at::kDouble) * 0.1;
  };
  const auto norm_weight = [&](const std::string& name) {
    weights[name] = 1 + 0.1 * at::randn({model.hidden}, generator, at::kDouble);
  };
  matrix("model.embed_tokens.weight", model.vocab, model.hidden);
  for (int64_t layer = 0; layer < model.layers; ++layer) {
    const std::string prefix = fmt::format("model.layers.{}.", layer);
    norm_weight(prefix + "input_layernorm.weight");
    matrix(prefix + "self_attn.q_proj.weight", model.heads * model.head_dim, model.hidden);
    matrix(prefix + "self_attn.k_proj.weight", model.kv_heads * model.head_dim, model.hidden);
    matrix(prefix + "self_attn.v_proj.weight", model.kv_heads * model.head_dim, model.hidden);
    matrix(prefix + "self_attn.o_proj.weight", model.hidden, model.heads * model.head_dim);
    norm_weight(prefix + "post_attention_layernorm.weight");
    matrix(prefix + "mlp.gate_proj.weight", model.ffn, model.hidden);
    matrix(prefix + "mlp.up_proj.weight", model.ffn, model.hidden);
    matrix(prefix + "mlp.down_proj.weight", model.hidden, model.ffn);
  }
  norm_weight("model.norm.weight");
  if (!model.tied_embeddings) matrix("lm_head.weight", model.vocab, model.hidden);
  for (auto& [name, weight] : weights) weight.requires_grad_();
  return weights;
}

at::Tensor reference_loss(const planner::ModelShape& model, const NamedTensors& weights,
                          const at::Tensor& inputs_BS, const at::Tensor& targets_BS) {
  at::Tensor x_BSD = at::embedding(weights.at("model.embed_tokens.weight"), inputs_BS);
  for (int64_t layer = 0; layer < model.layers; ++layer) {
    const std::string prefix = fmt::format("model.layers.{}.", layer);
    const auto normed = [&](const char* name) {
      return norm(x_BSD, weights.at(prefix + name), model.norm_eps);
    };
    x_BSD = x_BSD + attention(normed("input_layernorm.weight"), weights, prefix + "self_attn.", model);
    x_BSD = x_BSD + mlp(normed("post_attention_layernorm.weight"), weights, prefix + "mlp.");
  }
  const char* const head = model.tied_embeddings ? "model.embed_tokens.weight" : "lm_head.weight";
  const at::Tensor logits =
      project(norm(x_BSD, weights.at("model.norm.weight"), model.norm_eps), weights.at(head));
  return at::nll_loss(logits.flatten(0, 1).log_softmax(-1), targets_BS.flatten(), /*weight=*/{},
                      at::Reduction::Sum,
                      /*ignore_index=*/-1);
}

}  // namespace caravan::numerics
