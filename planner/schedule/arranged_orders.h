// Schedules that have no closed form: arranged for what ops take, within what a stage may hold.
#pragma once

#include "planner/schedule/generate.h"

namespace caravan::planner {

// The shortest that the kind's building blocks lead to. Assumes a spec that check_spec accepts, of a kind
// without a fixed order.
Schedule arranged_schedule(const ScheduleSpec& spec, const OpTimes& times);

}  // namespace caravan::planner
