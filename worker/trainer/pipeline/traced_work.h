// Notes when the ops of a stage's work run, and how long they wait for what other stages send.
//
// A wait begins when the op before has ended and the buffer of the op's input was asked for, which an
// executor does as it posts the receive, and ends when the op begins; so it has in it what the stage waits
// for room in a neighbour.
#pragma once

#include "worker/trainer/pipeline/op_trace.h"
#include "worker/trainer/pipeline/stage_work.h"

namespace caravan::trainer {

class TracedWork final : public StageWork {
 public:
  // Adds to `trace`.
  TracedWork(StageWork& work, const TraceClock& clock, OpTrace& trace)
      : work_(work), clock_(clock), trace_(trace) {}

  at::Tensor boundary_buffer(const planner::Op& op) const override;
  at::Tensor run(const planner::Op& op, at::Tensor input) override;

 private:
  void end_wait(const planner::Op& op, const Moment& now);

  StageWork& work_;
  const TraceClock& clock_;
  OpTrace& trace_;
};

}  // namespace caravan::trainer
