#include "worker/trainer/loop/training_work.h"

#include <ATen/ops/empty.h>

#include <stdexcept>
#include <utility>

namespace caravan::trainer {
namespace {

at::Tensor new_boundary(const WorkPlace& place) {
  return at::empty(place.stage.boundary_shape(), place.storage);
}

[[noreturn]] void refuse_backward() {
  throw std::logic_error("an evaluation has no backward");
}

}  // namespace

at::Tensor TrainingWork::boundary_buffer() const {
  return new_boundary(place_);
}

at::Tensor TrainingWork::forward(int micro_batch, at::Tensor input) {
  const PhaseClock::Scope scope(place_.clock, Phase::kForward);
  StageOutput output = place_.stage.forward(tokens_.micro_batch(micro_batch), std::move(input));
  loss_sum_ += output.loss_sum;
  saved_[micro_batch] = std::move(output.saved);
  return std::move(output.activations_TD);
}

at::Tensor TrainingWork::backward(int micro_batch, at::Tensor gradient) {
  const PhaseClock::Scope scope(place_.clock, Phase::kBackward);
  return place_.stage.backward(take_saved(micro_batch), std::move(gradient), nullptr);
}

at::Tensor TrainingWork::backward_input(int micro_batch, at::Tensor gradient) {
  const PhaseClock::Scope scope(place_.clock, Phase::kBackward);
  return place_.stage.backward(take_saved(micro_batch), std::move(gradient), &waiting_[micro_batch]);
}

void TrainingWork::backward_weight(int micro_batch) {
  const PhaseClock::Scope scope(place_.clock, Phase::kBackward);
  run_all(std::move(waiting_.extract(micro_batch).mapped()));
}

std::shared_ptr<StageSaved> TrainingWork::take_saved(int micro_batch) {
  return std::move(saved_.extract(micro_batch).mapped());
}

at::Tensor EvaluationWork::boundary_buffer() const {
  return new_boundary(place_);
}

at::Tensor EvaluationWork::forward(int micro_batch, at::Tensor input) {
  StageOutput output = place_.stage.evaluate(tokens_.micro_batch(micro_batch), std::move(input));
  loss_sum_ += output.loss_sum;
  return std::move(output.activations_TD);
}

at::Tensor EvaluationWork::backward(int, at::Tensor) {
  refuse_backward();
}
at::Tensor EvaluationWork::backward_input(int, at::Tensor) {
  refuse_backward();
}
void EvaluationWork::backward_weight(int) {
  refuse_backward();
}

}  // namespace caravan::trainer
