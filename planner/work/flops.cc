#include "planner/work/flops.h"

#include "planner/model/parameters.h"
#include "planner/work/blocks.h"

namespace caravan::planner {

FlopsPerToken flops_per_token(const ModelShape& shape, int64_t sequence_length, double recomputed) {
  // A tied table is looked up and multiplied with, so it counts once.
  const int64_t multiplied =
      parameter_count(shape) - (shape.tied_embeddings ? 0 : embedding_parameters(shape));
  const double products = 6.0 * static_cast<double>(multiplied);
  const double attention =
      12.0 * static_cast<double>(shape.layers * shape.heads * shape.head_dim * sequence_length);
  return {.model = products + attention,
          .model_causal = products + attention / 2,
          .hardware = products + attention + recomputed};
}

double recomputed_flops(const Operations& rows) {
  double flops = 0;
  for (const Operation& row : rows) {
    if (row.phase == Phase::Recompute) flops += row.product.flops() + 2 * row.attention.causal_flops();
  }
  return flops;
}

double recomputed_flops_per_token(const StageShape& stage) {
  const auto tokens = static_cast<double>(stage.micro_batch_size * stage.tokens_at_work());
  return recomputed_flops(layer_recompute(layer_forward(stage), stage.recomputed_part)) *
         static_cast<double>(stage.tensor * stage.recomputed_layers) / tokens;
}

double utilisation(double flops_per_token, double tokens_per_second, double devices, double peak_flops) {
  return flops_per_token * tokens_per_second / (devices * peak_flops);
}

}  // namespace caravan::planner
