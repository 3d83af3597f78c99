// Spreads a model's layers over pipeline stages when the user has not.
#pragma once

#include <cstdint>
#include <vector>

namespace caravan::planner {

// As even as possible; what does not divide goes to the middle stages, the later ones first: the first stage
// also holds the embedding and the most micro-batches, the last one the head. Needs 1 ≤ stages ≤ layers.
std::vector<int> split_layers(int64_t layers, int stages);

}  // namespace caravan::planner
