#include "planner/model/parameters.h"

namespace caravan::planner {

int64_t attention_parameters(const ModelShape& shape) {
  return 2 * shape.hidden * shape.head_dim * (shape.heads + shape.kv_heads);
}

int64_t feed_forward_parameters(const ModelShape& shape) {
  return 3 * shape.hidden * shape.ffn;
}

int64_t layer_parameters(const ModelShape& shape) {
  return attention_parameters(shape) + feed_forward_parameters(shape) + 2 * shape.hidden;
}

int64_t embedding_parameters(const ModelShape& shape) {
  return shape.vocab * shape.hidden;
}

int64_t parameter_count(const ModelShape& shape) {
  const int64_t tables = shape.tied_embeddings ? 1 : 2;
  return shape.layers * layer_parameters(shape) + tables * embedding_parameters(shape) + shape.hidden;
}

}  // namespace caravan::planner
