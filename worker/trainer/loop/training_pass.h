// The forwards and backwards of one step on this rank, in two parts (planner/schedule/post_validation.h).
#pragma once

#include <utility>

#include "planner/schedule/post_validation.h"
#include "worker/trainer/loop/training_work.h"
#include "worker/trainer/pipeline/executor.h"
#include "worker/trainer/pipeline/traced_work.h"

namespace caravan::trainer {

class TrainingPass {
 public:
  // All outlive the pass. traces: whether what runs is noted, by that clock.
  TrainingPass(const WorkPlace& place, const StepTokens& tokens, const planner::StepActions& actions,
               Communicator& pipeline, bool traces, const TraceClock& clock)
      : actions_(actions),
        work_(place, tokens),
        traced_(work_, clock, trace_),
        executor_(traces ? static_cast<StageWork&>(traced_) : work_, pipeline) {}
  TrainingPass(const TrainingPass&) = delete;
  TrainingPass& operator=(const TrainingPass&) = delete;

  void lead() { executor_.run(actions_.leading); }
  // Then one of these.
  void complete() { executor_.run(actions_.rest); }
  void recall() { executor_.run(actions_.recall); }

  // Of this rank's sequences so far: one fp64 number on the device, undefined but with the head.
  const at::Tensor& loss_sum() const { return work_.loss_sum(); }
  OpTrace take_trace() { return std::exchange(trace_, {}); }

 private:
  const planner::StepActions& actions_;
  OpTrace trace_;
  TrainingWork work_;
  TracedWork traced_;
  Executor executor_;
};

}  // namespace caravan::trainer
