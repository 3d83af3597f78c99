#include "worker/trainer/loop/training_work.h"

#include <ATen/ops/empty.h>
#include <c10/util/Exception.h>

#include <numeric>
#include <utility>

namespace caravan::trainer {
namespace {

using planner::Op;
using planner::OpType;

at::Tensor new_boundary(const WorkPlace& place, const Op& op) {
  return at::empty(place.stage.boundary_shape(op.segment), place.storage);
}

// Columns of several sequences lie apart. A copy of ids that are pinned is pinned too: a device that takes
// them from elsewhere has the host wait.
at::Tensor columns_of(const at::Tensor& ids_BS, int64_t begin, int64_t count) {
  at::Tensor columns = ids_BS.narrow(1, begin, count);
  if (columns.is_contiguous() || !ids_BS.is_pinned()) return columns;
  return at::empty(columns.sizes(), columns.options().pinned_memory(true)).copy_(columns);
}

TokenBatch tokens_of(const WorkPlace& place, const StepTokens& tokens, const Op& op) {
  TokenBatch batch = tokens.micro_batch(op.micro_batch);
  if (place.segments.empty()) return batch;
  const auto first = place.segments.begin();
  const int64_t begin = std::accumulate(first, first + op.segment, int64_t{0});
  for (at::Tensor* ids_BS : {&batch.inputs_BS, &batch.targets_BS}) {
    if (ids_BS->defined()) *ids_BS = columns_of(*ids_BS, begin, place.segments[op.segment]);
  }
  return batch;
}

// term: undefined but with the head.
void add(const at::Tensor& term, at::Tensor& sum) {
  if (!term.defined()) return;
  if (sum.defined()) {
    sum.add_(term);
  } else {
    sum = term;
  }
}

bool is_last_segment(const WorkPlace& place, const Op& op) {
  return op.segment + 1 >= static_cast<int>(place.segments.size());
}

}  // namespace

at::Tensor TrainingWork::boundary_buffer(const Op& op) const {
  return new_boundary(place_, op);
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
  std::shared_ptr<StageSaved>& saved = saved_[{op.micro_batch, op.chunk}];
  StageOutput output =
      place_.stage.forward(op.chunk, tokens_of(place_, tokens_, op), std::move(input), std::move(saved));
  add(output.loss_sum, loss_sum_);
  saved = std::move(output.saved);
  return std::move(output.activations_TD);
}

// The first segment comes last.
at::Tensor TrainingWork::backward(const Op& op, at::Tensor gradient, WeightGradientQueue* queue) {
  const auto saved = saved_.find({op.micro_batch, op.chunk});
  at::Tensor by_input = place_.stage.backward(saved->second, std::move(gradient), queue);
  if (op.segment == 0) saved_.erase(saved);
  return by_input;
}

at::Tensor EvaluationWork::boundary_buffer(const Op& op) const {
  return new_boundary(place_, op);
}

at::Tensor EvaluationWork::run(const Op& op, at::Tensor input) {
  TORCH_INTERNAL_ASSERT(op.type == OpType::Forward, "an evaluation has no backward");
  const std::pair<int, int> unit{op.micro_batch, op.chunk};
  StageOutput output = place_.stage.evaluate(op.chunk, tokens_of(place_, tokens_, op), std::move(input),
                                             std::move(saved_[unit]));
  add(output.loss_sum, loss_sum_);
  saved_[unit] = std::move(output.saved);
  if (is_last_segment(place_, op)) saved_.erase(unit);
  return std::move(output.activations_TD);
}

}  // namespace caravan::trainer
