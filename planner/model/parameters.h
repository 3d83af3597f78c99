// Exact parameter counts of a shape, whole and by part. Without padding, biases or anything Llama does not
// have.
#pragma once

#include <cstdint>

#include "planner/model/shape.h"

namespace caravan::planner {

// Of one layer: the projections q, k, v and output; gate, up and down; both, and the two norms.
int64_t attention_parameters(const ModelShape& shape);
int64_t feed_forward_parameters(const ModelShape& shape);
int64_t layer_parameters(const ModelShape& shape);
// The lookup table; the head has as many unless it is tied.
int64_t embedding_parameters(const ModelShape& shape);
int64_t parameter_count(const ModelShape& shape);

}  // namespace caravan::planner
