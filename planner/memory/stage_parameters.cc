#include "planner/memory/stage_parameters.h"

#include "planner/model/parameters.h"

namespace caravan::planner {

int64_t stage_parameters(const ModelShape& shape, const Layout& layout, int stage) {
  const int64_t tensor = layout.tensor;
  const int64_t products = (attention_parameters(shape) + feed_forward_parameters(shape)) / tensor;
  const int64_t layer = products + 2 * shape.hidden;
  const int64_t table = (shape.vocab + tensor - 1) / tensor * shape.hidden;
  const bool first = stage == 0;
  const bool last = stage == layout.pipeline - 1;
  const bool shares_table = shape.tied_embeddings && first && last;

  int64_t count = layout.layers_per_stage[stage] * layer;
  if (first) count += table;
  if (last) count += shape.hidden + (shares_table ? 0 : table);
  return count;
}

}  // namespace caravan::planner
