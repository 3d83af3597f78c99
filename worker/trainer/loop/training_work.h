// One stage of the model at work in a pipeline: micro-batches of one step in, loss and gradients out.
#pragma once

#include <map>
#include <memory>

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
  at::Tensor forward(int micro_batch, at::Tensor input);
  at::Tensor backward(int micro_batch, at::Tensor gradient, WeightGradientQueue* queue);

  const WorkPlace& place_;
  const StepTokens& tokens_;
  std::map<int, std::shared_ptr<StageSaved>> saved_;  // by micro-batch, between forward and backward
  std::map<int, WeightGradientQueue> waiting_;  // by micro-batch, between backward_input and backward_weight
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
