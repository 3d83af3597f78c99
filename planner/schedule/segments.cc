#include "planner/schedule/segments.h"

#include <cmath>

namespace caravan::planner {
namespace {

constexpr double kSoftmaxOperations = 3;  // for each head and position

// Of the first tokens.
double cost_of(double tokens, const TokenCost& cost) {
  return cost.every * tokens + cost.before * tokens * tokens / 2;
}

// How many of the first tokens cost that much.
double tokens_for(double amount, const TokenCost& cost) {
  if (cost.before == 0) return amount / cost.every;
  return (std::sqrt(cost.every * cost.every + 2 * cost.before * amount) - cost.every) / cost.before;
}

}  // namespace

TokenCost token_cost(const ModelShape& shape) {
  const auto hidden = static_cast<double>(shape.hidden);
  const auto layers = static_cast<double>(shape.layers);
  const auto head_dim = static_cast<double>(shape.head_dim);
  const double heads = static_cast<double>(shape.heads);
  const double attention = 4 * hidden * head_dim * (heads + static_cast<double>(shape.kv_heads));
  const double mlp = 6 * hidden * static_cast<double>(shape.ffn);
  return {.every = layers * (attention + mlp) + 2 * hidden * static_cast<double>(shape.vocab),
          .before = layers * heads * (4 * head_dim + kSoftmaxOperations)};
}

// From the end, where a token too many costs most; the first segment takes what rounding leaves.
std::vector<int64_t> balanced_segments(int64_t tokens, int segments, int64_t multiple,
                                       const TokenCost& cost) {
  const double each = cost_of(static_cast<double>(tokens), cost) / segments;
  std::vector<int64_t> lengths(segments, 0);
  int64_t end = tokens;
  for (int segment = segments - 1; segment > 0; --segment) {
    const double start = tokens_for(cost_of(static_cast<double>(end), cost) - each, cost);
    const auto length = static_cast<int64_t>(static_cast<double>(end) - start);
    lengths[segment] = length / multiple * multiple;
    end -= lengths[segment];
  }
  lengths[0] = end;
  return lengths;
}

}  // namespace caravan::planner
