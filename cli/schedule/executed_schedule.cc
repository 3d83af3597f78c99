#include "cli/schedule/executed_schedule.h"

#include <algorithm>

namespace caravan::cli {
namespace {

using planner::OpType;
using planner::PhaseTimes;
using planner::TimedOp;

double& phase_of(PhaseTimes& times, OpType type) {
  switch (type) {
    case OpType::Forward:
      return times.forward;
    case OpType::Backward:
    case OpType::BackwardInput:
      return times.backward_input;
    case OpType::BackwardWeight:
      break;
  }
  return times.backward_weight;
}

double work_of(const std::vector<TimedOp>& ops) {
  double seconds = 0;
  for (const TimedOp& timed : ops) seconds += timed.end - timed.start;
  return seconds;
}

}  // namespace

planner::Simulation performance_of(const ExecutedSchedule& executed) {
  planner::Simulation result;
  double busiest = 0;
  for (int stage = 0; stage < executed.schedule.stages; ++stage) {
    const std::vector<TimedOp>& ops = executed.ops[stage];
    const double work = work_of(ops);
    busiest = std::max(busiest, work);
    result.makespan = std::max(result.makespan, ops.back().end);
    result.span_bubble = std::max(result.span_bubble, ops.back().end - ops.front().start - work);
    result.peaks.push_back(planner::peak_in_flight(executed.schedule, stage));
  }
  result.bubble = result.makespan - busiest;
  return result;
}

planner::OpTimes mean_times(const ExecutedSchedule& executed) {
  const planner::ChunkMap map = executed.schedule.map();
  constexpr PhaseTimes kNone{.forward = 0, .backward_input = 0, .backward_weight = 0};
  const int segments = executed.schedule.segments;
  planner::OpTimes times{
      .groups = std::vector<PhaseTimes>(static_cast<std::size_t>(map.groups()) * segments, kNone),
      .segments = segments};
  for (int stage = 0; stage < executed.schedule.stages; ++stage) {
    for (const TimedOp& timed : executed.ops[stage]) {
      const int unit = map.group_of(stage, timed.op.chunk) * segments + timed.op.segment;
      phase_of(times.groups[unit], timed.op.type) +=
          (timed.end - timed.start) / executed.schedule.micro_batches;
    }
  }
  return times;
}

}  // namespace caravan::cli
