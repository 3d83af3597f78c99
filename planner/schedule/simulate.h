// Times a schedule and counts what each stage holds, without running anything.
//
// Every stage executes its list in order and waits for what an op depends on; times of different stages may
// differ. Assumes a schedule that validate_schedule accepts.
#pragma once

#include <vector>

#include "planner/schedule/op_times.h"
#include "planner/schedule/schedule.h"

namespace caravan::planner {

struct Simulation {
  double makespan = 0;
  double bubble = 0;          // makespan less the work of the busiest stage
  double span_bubble = 0;     // the longest that a stage idles between its first and its last op
  std::vector<double> peaks;  // by stage, in micro-batches of activations of one stage
};

// messages_under_way: of activations, and as many of gradients, that a stage may have sent to a neighbour
// which has not asked for them yet; before it makes one more it waits. Stages are taken to ask when the op
// before has ended; those that ask while it runs wait no longer. A makespan of infinity where so few make
// stages wait for each other for ever.
Simulation simulate(const Schedule& schedule, const OpTimes& times, int messages_under_way = kAnyNumber);

// From the end of a step to the end of the next where stages begin each step as soon as they have ended the
// one before (post_validation.h).
double period(const Schedule& schedule, const OpTimes& times, int messages_under_way);

struct TimedOp {
  Op op;
  double start = 0;
  double end = 0;
};

// What every stage does when, first op first.
std::vector<std::vector<TimedOp>> time_ops(const Schedule& schedule, const OpTimes& times);

// Micro-batches of activations that a stage holds at most. weight_share: part of a unit's activations that
// the weight gradients need, and that stays until they are done.
double peak_in_flight(const Schedule& schedule, int stage, double weight_share = 1);

}  // namespace caravan::planner
