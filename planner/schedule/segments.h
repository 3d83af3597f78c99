// Where to cut a sequence, so that its segments take the same time although later tokens attend to more.
#pragma once

#include <cstdint>
#include <vector>

#include "planner/model/shape.h"

namespace caravan::planner {

// A token at position t takes every + before * t.
struct TokenCost {
  double every = 0;
  double before = 0;
};

// In operations of a forward: products of layers and head; scores, softmax and values of attention for each
// earlier position.
TokenCost token_cost(const ModelShape& shape);

// Tokens of each segment, first one first: all but the first are multiples of `multiple`. 1 ≤ segments, 1 ≤
// multiple, both costs ≥ 0 and not both 0, and tokens enough for all of them; Sun et al., "Seq1F1B", arXiv
// 2406.03488.
std::vector<int64_t> balanced_segments(int64_t tokens, int segments, int64_t multiple, const TokenCost& cost);

}  // namespace caravan::planner
