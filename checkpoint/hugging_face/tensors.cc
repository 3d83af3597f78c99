#include "checkpoint/hugging_face/tensors.h"

#include <fmt/format.h>

namespace caravan::checkpoint {

int64_t tensor_count(const planner::ModelShape& model) {
  constexpr int64_t kOfALayer = 9;
  return kOfALayer * model.layers + (model.tied_embeddings ? 2 : 3);
}

std::vector<NamedShape> tensors_of(const planner::ModelShape& model) {
  const int64_t hidden = model.hidden;
  const int64_t query = model.heads * model.head_dim;
  const int64_t key = model.kv_heads * model.head_dim;
  std::vector<NamedShape> tensors = {{"model.embed_tokens.weight", {model.vocab, hidden}}};
  for (int64_t layer = 0; layer < model.layers; ++layer) {
    const auto add = [&](const char* name, std::vector<int64_t> shape) {
      tensors.push_back({fmt::format("model.layers.{}.{}.weight", layer, name), std::move(shape)});
    };
    add("input_layernorm", {hidden});
    add("self_attn.q_proj", {query, hidden});
    add("self_attn.k_proj", {key, hidden});
    add("self_attn.v_proj", {key, hidden});
    add("self_attn.o_proj", {hidden, query});
    add("post_attention_layernorm", {hidden});
    add("mlp.gate_proj", {model.ffn, hidden});
    add("mlp.up_proj", {model.ffn, hidden});
    add("mlp.down_proj", {hidden, model.ffn});
  }
  tensors.push_back({"model.norm.weight", {hidden}});
  if (!model.tied_embeddings) tensors.push_back({"lm_head.weight", {model.vocab, hidden}});
  return tensors;
}

}  // namespace caravan::checkpoint
