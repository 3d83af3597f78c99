// Exact parameter counts of a shape, whole and by part. Without padding, biases or anything Llama does not
// have.
#pragma once

#include <cstdint>

#include "planner/model/shape.h"

namespace caravan::planner {

int64_t attention_parameters(const ModelShape& shape);     // q, k, v and output projection of one layer
int64_t feed_forward_parameters(const ModelShape& shape);  // gate, up and down projection of one layer
int64_t layer_parameters(const ModelShape& shape);         // both, and the two norms
int64_t embedding_parameters(
    const ModelShape& shape);  // the lookup table; the head has as many unless it is tied
int64_t parameter_count(const ModelShape& shape);

}  // namespace caravan::planner
