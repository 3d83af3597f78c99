// A schedule and how it performs, as `caravan schedule -o json` prints it.
#pragma once

#include <string>

#include "planner/schedule/simulate.h"

namespace caravan::cli {

// {"stages": [["F0", ...], ...], "makespan": x, "bubble": x, "spanBubble": x, "peaks": [...]}
std::string schedule_json(const planner::Schedule& schedule, const planner::Simulation& simulation);

}  // namespace caravan::cli
