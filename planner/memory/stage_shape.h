// One group of a layout's layers at work on one segment of its sequences (the first where they are whole), as
// the table of work asks for it.
#pragma once

#include "planner/placement.h"
#include "planner/request.h"
#include "planner/work/stage_shape.h"

namespace caravan::planner {

StageShape stage_shape(const PlanRequest& request, const Layout& layout, const LayerGroup& group,
                       int segment = 0);

}  // namespace caravan::planner
