// An executed schedule beside the same op lists simulated with the mean times of its ops: what a bubble owes
// to transfers and to ops that take longer than others. Pure.
#pragma once

#include <string>
#include <vector>

#include "cli/schedule/executed_schedule.h"
#include "cli/schedule/timeline_text.h"

namespace caravan::cli {

struct Timeline {
  std::vector<std::vector<planner::TimedOp>> ops;  // of each stage, in seconds
  planner::Simulation performance;
};

struct Comparison {
  planner::ScheduleSpec spec;
  planner::Schedule schedule;
  int step = 0;
  Timeline executed;
  Timeline simulated;

  // Seconds by which the executed bubble is the longer one; the work of the busiest stage is the same in
  // both.
  double longer_bubble() const { return executed.performance.bubble - simulated.performance.bubble; }
};

Comparison compare(ExecutedSchedule executed);

// style: the end is that of the longer timeline, whatever it says.
std::string comparison_text(const Comparison& comparison, TimelineStyle style);
std::string comparison_picture(const Comparison& comparison);
// {"schedule": "1F1B", "step": n, "executed": T, "simulated": T, "longerBubble": x}, in seconds, where T is
// {"stages": [[{"op": "F0", "start": x, "end": x}, ...], ...], "makespan": x, "bubble": x, "spanBubble": x,
// "peaks": [...]}
std::string comparison_json(const Comparison& comparison);

}  // namespace caravan::cli
