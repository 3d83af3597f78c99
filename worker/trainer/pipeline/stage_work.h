// What the executor asks of a stage: the computation of one op on one micro-batch, or a segment of one, by
// one of the stage's chunks. Keeps what a forward leaves for its backward. Tensors are handed over by value,
// so that they can be freed early.
#pragma once

#include <ATen/core/Tensor.h>

#include "planner/schedule/schedule.h"

namespace caravan::trainer {

class StageWork {
 public:
  virtual ~StageWork() = default;

  // An uninitialised tensor that the input of an op is received into.
  virtual at::Tensor boundary_buffer(const planner::Op& op) const = 0;

  // input: of a forward the activations of the group of layers before, undefined with the embedding; of a
  // backward, whole or by the input, the gradient by the group's output, undefined with the head. Returns
  // what the next group needs: activations, undefined with the head, or the gradient by the input, undefined
  // with the embedding. Gradients of weights take and return nothing.
  virtual at::Tensor run(const planner::Op& op, at::Tensor input) = 0;
};

}  // namespace caravan::trainer
