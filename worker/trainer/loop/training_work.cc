#include "worker/trainer/loop/training_work.h"

#include <ATen/ops/empty.h>

#include <stdexcept>
#include <utility>

namespace caravan::trainer {
namespace {

using planner::Op;
using planner::OpType;

at::Tensor new_boundary(const WorkPlace& place) {
  return at::empty(place.stage.boundary_shape(), place.storage);
}

}  // namespace

at::Tensor TrainingWork::boundary_buffer(const Op&) const {
  return new_boundary(place_);
}

at::Tensor TrainingWork::run(const Op& op, at::Tensor input) {
  const bool forwards = op.type == OpType::Forward;
  const PhaseClock::Scope scope(place_.clock, forwards ? Phase::kForward : Phase::kBackward);
  switch (op.type) {
    case OpType::Forward:
      return forward(op, std::move(input));
    case OpType::Backward:
      return backward(op, std::move(input), nullptr);
    case OpType::BackwardInput:
      return backward(op, std::move(input), &waiting_[unit_of(op)]);
    case OpType::BackwardWeight:
      run_all(std::move(waiting_.extract(unit_of(op)).mapped()));
      return {};
  }
  return {};
}

at::Tensor TrainingWork::forward(const Op& op, at::Tensor input) {
  StageOutput output = place_.stage.forward(op.chunk, tokens_.micro_batch(op.micro_batch), std::move(input));
  loss_sum_ += output.loss_sum;
  saved_[unit_of(op)] = std::move(output.saved);
  return std::move(output.activations_TD);
}

at::Tensor TrainingWork::backward(const Op& op, at::Tensor gradient, WeightGradientQueue* queue) {
  std::shared_ptr<StageSaved> saved = std::move(saved_.extract(unit_of(op)).mapped());
  return place_.stage.backward(std::move(saved), std::move(gradient), queue);
}

at::Tensor EvaluationWork::boundary_buffer(const Op&) const {
  return new_boundary(place_);
}

at::Tensor EvaluationWork::run(const Op& op, at::Tensor input) {
  if (op.type != OpType::Forward) throw std::logic_error("an evaluation has no backward");
  StageOutput output = place_.stage.evaluate(op.chunk, tokens_.micro_batch(op.micro_batch), std::move(input));
  loss_sum_ += output.loss_sum;
  return std::move(output.activations_TD);
}

}  // namespace caravan::trainer
