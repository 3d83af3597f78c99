// Times a schedule and counts what each stage holds, without running anything.
//
// Every stage executes its list in order and waits for what an op depends on; times of different stages may
// differ. Assumes a schedule that validate_schedule accepts.
#pragma once

#include <vector>

#include "planner/schedule/schedule.h"

namespace caravan::planner {

// Of a whole stage for one micro-batch, in any unit: a chunk costs 1/chunks of it, a segment 1/segments.
struct StageTimes {
  double forward = 1;
  double backward_input = 1;
  double backward_weight = 1;

  double total() const { return forward + backward_input + backward_weight; }
};

struct Simulation {
  double makespan = 0;
  double bubble = 0;          // makespan less the work of the busiest stage
  double span_bubble = 0;     // the longest that a stage idles between its first and its last op
  std::vector<double> peaks;  // by stage, in micro-batches of activations of one stage
};

// times: one per stage. transfer: from the end of an op to its arrival at a neighbour.
Simulation simulate(const Schedule& schedule, const std::vector<StageTimes>& times, double transfer = 0);

struct TimedOp {
  Op op;
  double start = 0;
  double end = 0;
};

// What every stage does when, first op first; the times as above.
std::vector<std::vector<TimedOp>> time_ops(const Schedule& schedule, const std::vector<StageTimes>& times,
                                           double transfer = 0);

// Micro-batches of activations that a stage holds at most. weight_share: part of a unit's activations that
// the weight gradients need, and that stays until they are done.
double peak_in_flight(const Schedule& schedule, int stage, double weight_share = 1);

}  // namespace caravan::planner
