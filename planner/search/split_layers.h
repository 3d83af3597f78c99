// Spreads a model's layers over pipeline stages when the user has not.
#pragma once

#include <cstdint>
#include <vector>

#include "planner/engine_profile.h"
#include "planner/layout.h"
#include "planner/request.h"

namespace caravan::planner {

// How many layers take as much time as the head of a layout; its split does not matter.
double head_in_time(const PlanRequest& request, const Layout& layout, const EngineProfile& profile);

// And how many have as many parameters.
double head_in_parameters(const ModelShape& shape);

// So that the slowest stage has the least to do, where the last one also has the head, whose work is given in
// layers. What does not divide goes to the later stages: the first one also holds the embedding and the most
// micro-batches. No stage has fewer than `fewest`, as a schedule of several chunks needs. Needs
// 1 ≤ stages ≤ layers, and as many layers as `fewest` of each stage.
std::vector<int> split_layers(int64_t layers, int stages, double head_layers, int fewest = 1);

// Stage after stage takes layers until the work so far, of layers and head, is more than its part; the last
// ones get at least one. What engines do that assign blocks in order. Needs 1 ≤ stages ≤ layers.
std::vector<int> fill_stages(int64_t layers, int stages, double head_layers);

}  // namespace caravan::planner
