// For tests: a small model's checkpoint, as two ranks write it.
#pragma once

#include "checkpoint/folder/checkpoint.h"
#include "checkpoint/folder/commit.h"

namespace caravan::checkpoint::testing {

planner::ModelShape tiny_model();
FilePlan tiny_plan();
SaveRequest tiny_request(int step, int attempt = 1);

inline constexpr int64_t kTinyBlock = 512;

// What stands at an element of a tensor of a checkpoint of that step.
float tiny_value(int step, StateKind kind, std::size_t tensor, int64_t element);

// One rank writes the first half of each tensor's rows, the other the rest.
Status write_tiny_rank(Volume& volume, const SaveId& id, int rank);
Status write_tiny_rank(Volume& volume, int step, int rank, int attempt = 1);
// The whole sequence; stops at the first error.
Status write_tiny(Volume& volume, int step, int attempt = 1);

// Every element of every tensor is that of the checkpoint's step.
bool holds_tiny_values(Checkpoint& checkpoint);

}  // namespace caravan::checkpoint::testing
