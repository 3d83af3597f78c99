// Spreads a model's layers over pipeline stages when the user has not.
#pragma once

#include <cstdint>
#include <vector>

#include "planner/model/shape.h"

namespace caravan::planner {

// How many layers take as much time as the head.
double head_in_layers(const ModelShape& shape);

// So that the slowest stage has the least to do, where the last one also has the head. What does not divide
// goes to the later stages: the first one also holds the embedding and the most micro-batches. Needs 1 ≤
// stages ≤ layers.
std::vector<int> split_layers(int64_t layers, int stages, double head_layers);

// Stage after stage takes layers until the work so far, of layers and head, is more than its part; the last
// ones get at least one. What engines do that assign blocks in order. Needs 1 ≤ stages ≤ layers.
std::vector<int> fill_stages(int64_t layers, int stages, double head_layers);

}  // namespace caravan::planner
