// Schedules whose op lists follow from a stage's place alone, whatever ops take.
#pragma once

#include <vector>

#include "planner/schedule/generate.h"

namespace caravan::planner {

// Assumes has_fixed_order, and a spec that check_spec accepts.
std::vector<Op> fixed_stage(const ScheduleSpec& spec, int stage);

// Forwards of chunks or segments that a stage runs before it takes forwards and backwards in turn.
int warm_up(const ScheduleSpec& spec, int stage);

}  // namespace caravan::planner
