// One group of a layout's layers, as the block table asks for it.
#pragma once

#include "planner/memory/block_table.h"
#include "planner/placement.h"
#include "planner/request.h"

namespace caravan::planner {

StageShape stage_shape(const PlanRequest& request, const Layout& layout, const LayerGroup& group);

}  // namespace caravan::planner
