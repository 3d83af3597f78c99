// Lists the layouts that a request leaves open, in the order in which the rule tries them: least model
// parallelism first, at an equal product pipeline before tensor parallelism, small micro-batches first.
#pragma once

#include <vector>

#include "planner/layout.h"
#include "planner/request.h"

namespace caravan::planner {

enum class Breadth {
  Rule,  // what the rule may pick: sequence parallelism with every tensor parallelism, micro-batch size 1
  All,   // also without it, and micro-batch sizes up to 8
};

// Illegal layouts too, so that they can be explained. The user's choices are kept, the checkpointing policy
// aside.
std::vector<Layout> enumerate_layouts(const PlanRequest& request, bool activation_checkpointing,
                                      Breadth breadth);

}  // namespace caravan::planner
