// One stage of the model at work in a pipeline: micro-batches of one step in, loss and gradients out.
#pragma once

#include <map>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "worker/trainer/data/batch_reader.h"
#include "worker/trainer/loop/phase_clock.h"
#include "worker/trainer/model/stage.h"
#include "worker/trainer/pipeline/stage_work.h"

namespace caravan::trainer {

// A stage, and what all kinds of work with it share.
struct WorkPlace {
  Stage& stage;
  at::TensorOptions storage;  // of what stages hand to each other
  PhaseClock& clock;
  std::vector<int64_t> segments = {};  // of a sequence that is cut: tokens of each
};

// By micro-batch and chunk.
using SavedUnits = std::map<std::pair<int, int>, std::shared_ptr<StageSaved>>;

class TrainingWork final : public StageWork {
 public:
  TrainingWork(const WorkPlace& place, const StepTokens& tokens) : place_(place), tokens_(tokens) {}

  at::Tensor boundary_buffer(const planner::Op& op) const override;
  at::Tensor run(const planner::Op& op, at::Tensor input) override;

  // Of this rank's sequences so far: one fp64 number on the device, undefined but with the head.
  const at::Tensor& loss_sum() const { return loss_sum_; }

 private:
  using Unit = std::tuple<int, int, int>;  // micro-batch, segment and chunk
  static Unit unit_of(const planner::Op& op) { return {op.micro_batch, op.segment, op.chunk}; }

  at::Tensor forward(const planner::Op& op, at::Tensor input);
  at::Tensor backward(const planner::Op& op, at::Tensor gradient, WeightGradientQueue* queue);

  const WorkPlace& place_;
  const StepTokens& tokens_;
  SavedUnits saved_;  // from the first forward of its segments to the last backward
  std::map<Unit, WeightGradientQueue> waiting_;  // between the two parts of a backward
  at::Tensor loss_sum_;
};

// Forwards only; nothing is kept but what the next segment of a sequence needs.
class EvaluationWork final : public StageWork {
 public:
  EvaluationWork(const WorkPlace& place, const StepTokens& tokens) : place_(place), tokens_(tokens) {}

  at::Tensor boundary_buffer(const planner::Op& op) const override;
  at::Tensor run(const planner::Op& op, at::Tensor input) override;

  const at::Tensor& loss_sum() const { return loss_sum_; }

 private:
  const WorkPlace& place_;
  const StepTokens& tokens_;
  SavedUnits saved_;  // from the first segment of its sequences to the last
  at::Tensor loss_sum_;
};

}  // namespace caravan::trainer
