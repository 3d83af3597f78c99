// One group of a layout's layers, as the table of work asks for it.
#pragma once

#include "planner/placement.h"
#include "planner/request.h"
#include "planner/work/stage_shape.h"

namespace caravan::planner {

StageShape stage_shape(const PlanRequest& request, const Layout& layout, const LayerGroup& group);

}  // namespace caravan::planner
