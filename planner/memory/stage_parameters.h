// How many parameters one rank of a stage holds: layers and head cut by tensor parallelism, norms whole, the
// vocabulary padded to a multiple of the tensor size.
#pragma once

#include <cstdint>

#include "planner/layout.h"
#include "planner/model/shape.h"

namespace caravan::planner {

int64_t stage_parameters(const ModelShape& shape, const Layout& layout, int stage);

}  // namespace caravan::planner
