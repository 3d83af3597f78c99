// A schedule as a run executed it in one step, and what its ops took. Pure.
#pragma once

#include <vector>

#include "planner/schedule/simulate.h"

namespace caravan::cli {

struct ExecutedSchedule {
  planner::ScheduleSpec spec;
  int step = 0;
  planner::Schedule schedule;                      // that validate_schedule accepts
  std::vector<std::vector<planner::TimedOp>> ops;  // of each stage, in seconds since the first one began
};

// As simulate() has it: the busiest stage's work is the time that its ops took.
planner::Simulation performance_of(const ExecutedSchedule& executed);

// What an op of each group and type took on average. A segment's part is that of all ops on it.
planner::OpTimes mean_times(const ExecutedSchedule& executed);

}  // namespace caravan::cli
