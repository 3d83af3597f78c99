// One stage of a layout, as the block table asks for it.
#pragma once

#include "planner/layout.h"
#include "planner/memory/block_table.h"
#include "planner/request.h"

namespace caravan::planner {

StageShape stage_shape(const PlanRequest& request, const Layout& layout, int stage);

}  // namespace caravan::planner
