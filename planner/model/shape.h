// The shape of a Llama model and what follows from it by counting: parameters, FLOPs, model FLOPs
// utilisation.
//
// Pure arithmetic; every count is exact for the architecture of Hugging Face's LlamaForCausalLM. One truth
// for planner and trainer.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace caravan::planner {

// Rotary embedding scaling "llama3" (Llama 3.1 and later).
struct RopeScaling {
  double factor = 8;
  double low_frequency_factor = 1;
  double high_frequency_factor = 4;
  int64_t original_positions = 8192;
  bool operator==(const RopeScaling&) const = default;
};

struct ModelShape {
  std::string name;  // preset name, or "custom"
  int64_t hidden = 0;
  int64_t layers = 0;
  int64_t heads = 0;
  int64_t kv_heads = 0;
  int64_t head_dim = 0;
  int64_t ffn = 0;
  int64_t vocab = 0;
  bool tied_embeddings = false;
  double rope_theta = 500000;
  std::optional<RopeScaling> rope_scaling;
  double norm_eps = 1e-5;
  std::optional<int64_t> positions = {};  // longest sequence that the published model was made for
  // Tokens that begin and end its texts. As positions no part of the shape, but handed on with the weights.
  std::optional<int64_t> bos_token = {};
  std::vector<int64_t> eos_tokens = {};
  bool operator==(const ModelShape&) const = default;
};

}  // namespace caravan::planner
