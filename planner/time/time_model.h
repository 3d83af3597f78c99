// Predicts how long a step takes, and how much of it the pipeline idles.
//
// Seconds need a GPU whose product is known; for other devices only the bubble is predicted, from the work of
// each stage. Matrix products run at a part of the peak that grows with their size, tensor parallel traffic
// is not hidden, stages are timed by the schedule's simulator, data parallel traffic follows the last
// backward.
#pragma once

#include <optional>
#include <vector>

#include "planner/engine_profile.h"
#include "planner/layout.h"
#include "planner/request.h"
#include "planner/schedule/simulate.h"

namespace caravan::planner {

struct StepTime {
  double bubble_fraction = 0;
  std::optional<double> seconds;       // of one optimizer step
  std::optional<double> data_seconds;  // of these, data parallel traffic that nothing hides
  std::optional<double> mfu;           // the three of planner/model/flops.h
  std::optional<double> mfu_causal;
  std::optional<double> hfu;
};

struct PipelineTimes {
  std::vector<StageTimes> stages;  // of one micro-batch
  double transfer = 0;             // of one micro-batch's activations between neighbours
};

// Seconds; where the device's speed is unknown, proportions.
PipelineTimes predict_pipeline_times(const PlanRequest& request, const Layout& layout,
                                     const EngineProfile& profile);

StepTime predict_step_time(const PlanRequest& request, const Layout& layout, const EngineProfile& profile);

}  // namespace caravan::planner
