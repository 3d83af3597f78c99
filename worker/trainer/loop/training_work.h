// One stage of the model at work in a pipeline: micro-batches of one step in, loss and gradients out.
#pragma once

#include <map>
#include <memory>
#include <utility>

#include "worker/trainer/data/batch_reader.h"
#include "worker/trainer/loop/phase_clock.h"
#include "worker/trainer/model/stage.h"
#include "worker/trainer/pipeline/stage_work.h"

namespace caravan::trainer {

// A stage, and what all kinds of work with it share.
struct WorkPlace {
  Stage& stage;
  at::ScalarType storage = at::kFloat;
  PhaseClock& clock;
};

class TrainingWork final : public StageWork {
 public:
  TrainingWork(const WorkPlace& place, const StepTokens& tokens) : place_(place), tokens_(tokens) {}

  at::Tensor boundary_buffer(const planner::Op& op) const override;
  at::Tensor run(const planner::Op& op, at::Tensor input) override;

  // Of this rank's sequences so far; 0 but with the head.
  double loss_sum() const { return loss_sum_; }

 private:
  using Unit = std::pair<int, int>;  // micro-batch and chunk
  static Unit unit_of(const planner::Op& op) { return {op.micro_batch, op.chunk}; }

  at::Tensor forward(const planner::Op& op, at::Tensor input);
  at::Tensor backward(const planner::Op& op, at::Tensor gradient, WeightGradientQueue* queue);

  const WorkPlace& place_;
  const StepTokens& tokens_;
  std::map<Unit, std::shared_ptr<StageSaved>> saved_;  // between forward and backward
  std::map<Unit, WeightGradientQueue> waiting_;        // between the two parts of a backward
  double loss_sum_ = 0;
};

// Forwards only; nothing is kept.
class EvaluationWork final : public StageWork {
 public:
  EvaluationWork(const WorkPlace& place, const StepTokens& tokens) : place_(place), tokens_(tokens) {}

  at::Tensor boundary_buffer(const planner::Op& op) const override;
  at::Tensor run(const planner::Op& op, at::Tensor input) override;

  double loss_sum() const { return loss_sum_; }

 private:
  const WorkPlace& place_;
  const StepTokens& tokens_;
  double loss_sum_ = 0;
};

}  // namespace caravan::trainer
