// What the executor asks of a stage: the computation of one op on one micro-batch. Keeps what a forward
// leaves for its backward. Tensors are handed over by value, so that they can be freed early.
#pragma once

#include <ATen/core/Tensor.h>

namespace caravan::trainer {

class StageWork {
 public:
  virtual ~StageWork() = default;

  // An uninitialised tensor that activations, or their gradients, of one micro-batch are received into.
  virtual at::Tensor boundary_buffer() const = 0;

  // input: undefined with the embedding. Returns the activations for the next stage; undefined with the head.
  virtual at::Tensor forward(int micro_batch, at::Tensor input) = 0;
  // gradient: by this stage's output; undefined with the head. Returns the gradient by its input; undefined
  // with the embedding.
  virtual at::Tensor backward(int micro_batch, at::Tensor gradient) = 0;
  virtual at::Tensor backward_input(int micro_batch, at::Tensor gradient) = 0;
  virtual void backward_weight(int micro_batch) = 0;
};

}  // namespace caravan::trainer
