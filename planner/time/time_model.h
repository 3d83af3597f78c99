// Predicts how long a step takes, what of it goes where, and how much of it the pipeline idles.
//
// Seconds need a device whose product is known; for others only the bubble is predicted, from the work of
// each stage. Stages are timed by the schedule's simulator; data parallel traffic follows the last backward,
// but for the part that hides behind it.
#pragma once

#include <optional>
#include <vector>

#include "planner/engine_profile.h"
#include "planner/layout.h"
#include "planner/request.h"
#include "planner/schedule/simulate.h"

namespace caravan::planner {

// Seconds of a step, as the busiest stage spends them. The sum is the step.
struct StepParts {
  double compute = 0;
  double tensor_traffic = 0;
  double idle = 0;          // the pipeline's bubble, transfers between stages included
  double data_traffic = 0;  // what nothing hides, and the copies of a tied table
  double optimizer = 0;

  double total() const { return compute + tensor_traffic + idle + data_traffic + optimizer; }
};

struct StepTime {
  double bubble_fraction = 0;     // of a step, as far as it is known
  std::optional<double> seconds;  // of one optimizer step
  std::optional<StepParts> parts;
  std::optional<double> mfu;  // the three of planner/work/flops.h
  std::optional<double> mfu_causal;
  std::optional<double> hfu;
};

struct PipelineTimes {
  OpTimes ops;
  std::vector<double>
      traffic;  // of a micro-batch, by group of layers: collectives of the tensor group, part of ops
};

// Seconds; where the device's speed is unknown, proportions.
PipelineTimes predict_pipeline_times(const PlanRequest& request, const Layout& layout,
                                     const EngineProfile& profile);

// What op lists are arranged for, as a plan carries it: thousandths of the longest. Empty where they have a
// fixed order.
std::vector<PhaseTimes> arranged_group_times(const PlanRequest& request, const Layout& layout,
                                             const EngineProfile& profile);

// No schedule and no split of its layers makes a step of such a layout faster; absent where the device's
// speed is unknown. Nothing is made again.
std::optional<double> least_step_seconds(const PlanRequest& request, const Layout& layout,
                                         const EngineProfile& profile);

StepTime predict_step_time(const PlanRequest& request, const Layout& layout, const EngineProfile& profile);

}  // namespace caravan::planner
