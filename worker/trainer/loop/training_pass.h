// The forwards and backwards of one step on this rank, in two parts (planner/schedule/post_validation.h).
#pragma once

#include "common/clock.h"
#include "planner/schedule/post_validation.h"
#include "worker/trainer/loop/training_work.h"
#include "worker/trainer/pipeline/executor.h"
#include "worker/trainer/pipeline/traced_work.h"

namespace caravan::trainer {

class TrainingPass {
 public:
  // Runs the leading forwards. All outlive the pass; a trace gets what runs, if there is one.
  TrainingPass(const WorkPlace& place, const StepTokens& tokens, const planner::StepActions& actions,
               Communicator& pipeline, OpTrace* trace)
      : actions_(actions),
        work_(place, tokens),
        traced_(work_, clock_, trace == nullptr ? untold_ : *trace),
        executor_(trace == nullptr ? static_cast<StageWork&>(work_) : traced_, pipeline) {
    executor_.run(actions_.leading);
  }

  // Then one of these.
  void complete() { executor_.run(actions_.rest); }
  void recall() { executor_.run(actions_.recall); }

  // Of this rank's sequences so far; 0 but with the head.
  double loss_sum() const { return work_.loss_sum(); }

 private:
  const planner::StepActions& actions_;
  const SystemClock clock_{};
  OpTrace untold_;
  TrainingWork work_;
  TracedWork traced_;
  Executor executor_;
};

}  // namespace caravan::trainer
