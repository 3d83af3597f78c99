#include "planner/model/flops.h"

#include "planner/model/parameters.h"

namespace caravan::planner {

FlopsPerToken flops_per_token(const ModelShape& shape, int64_t sequence_length,
                              bool activation_checkpointing) {
  // A tied table is looked up and multiplied with, so it counts once.
  const int64_t multiplied =
      parameter_count(shape) - (shape.tied_embeddings ? 0 : embedding_parameters(shape));
  const double products = 6.0 * static_cast<double>(multiplied);
  const double attention =
      12.0 * static_cast<double>(shape.layers * shape.heads * shape.head_dim * sequence_length);
  const double layers_forward =
      2.0 * static_cast<double>(shape.layers * layer_parameters(shape)) + attention / 3;

  FlopsPerToken flops;
  flops.model = products + attention;
  flops.model_causal = products + attention / 2;
  flops.hardware = flops.model + (activation_checkpointing ? layers_forward : 0);
  return flops;
}

double utilisation(double flops_per_token, double tokens_per_second, double devices, double peak_flops) {
  return flops_per_token * tokens_per_second / (devices * peak_flops);
}

}  // namespace caravan::planner
