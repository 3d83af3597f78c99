#include "planner/memory/activation_coefficients.h"

namespace caravan::planner {
namespace {

double tokens(const StageShape& stage) {
  return static_cast<double>(stage.micro_batch_size * stage.sequence_length);
}

// Parts of a tensor between blocks on each rank.
double residual_parts(const StageShape& stage) {
  return stage.sequence_parallel ? static_cast<double>(stage.tensor) : 1;
}

double layer_input_bytes(const StageShape& stage) {
  const auto element = static_cast<double>(bytes_of(stage.storage));
  return tokens(stage) * static_cast<double>(stage.model.hidden) * element / residual_parts(stage);
}

}  // namespace

double layer_bytes(const StageShape& stage, const ActivationCoefficients& coefficients) {
  const ModelShape& model = stage.model;
  const auto hidden = static_cast<double>(model.hidden);
  // Half of what attention keeps belongs to queries and the output, half to keys and values.
  const double grouped = (1 + static_cast<double>(model.kv_heads) / static_cast<double>(model.heads)) / 2;
  const double replicated = coefficients.replicated * hidden / residual_parts(stage);
  const double scores = coefficients.scores * static_cast<double>(model.heads * stage.sequence_length);
  const double split =
      coefficients.hidden * grouped * hidden + coefficients.ffn * static_cast<double>(model.ffn) + scores;
  return tokens(stage) * (replicated + split / static_cast<double>(stage.tensor));
}

double logits_bytes(const StageShape& stage, const ActivationCoefficients& coefficients) {
  const auto parts = static_cast<double>(stage.tensor);
  const double whole = coefficients.logits / (coefficients.logits_sharded ? parts : 1);
  const double gathered = stage.tensor > 1 ? coefficients.gathered_logits / parts : 0;
  return tokens(stage) * static_cast<double>(stage.model.vocab) * (whole + gathered);
}

StageFootprint stage_footprint(const StageShape& stage, const ActivationCoefficients& coefficients) {
  const auto layer = static_cast<int64_t>(layer_bytes(stage, coefficients));
  const auto input = static_cast<int64_t>(layer_input_bytes(stage));
  const auto logits = stage.has_head ? static_cast<int64_t>(logits_bytes(stage, coefficients)) : 0;
  const int64_t kept = stage.layers * (stage.recomputed_layers > 0 ? input : layer);
  const int64_t live = stage.recomputed_layers > 0 ? layer : 0;
  return {.forward = {.peak = {.activations = kept, .logits = logits}, .after = {.activations = kept}},
          .backward = {.peak = {.activations = live}, .after = {.activations = -kept}},
          .evaluate = {.peak = {.activations = layer, .logits = logits}, .after = {}},
          .kept = kept,
          .boundary = 0,
          .constants = 0};
}

}  // namespace caravan::planner
