// AdamW (Loshchilov and Hutter, arXiv 1711.05101) over the flat buffers of one rank.
//
// Moments are fp32 (fp64 in fp64 models). Weights are updated in fp32: with fp32 storage in place, with bf16
// storage in a master copy that is rounded into the values after each update. With ZeRO-1 a rank holds states
// for its slices only, and update() gathers the new values from the data group.
//
// Memory: 8 bytes for each state element, 4 more with bf16 storage; state elements are all elements of the
// flat buffers, divided by the data parallel size with ZeRO-1. update() allocates nothing.
#pragma once

#include "worker/trainer/comm/communicator.h"
#include "worker/trainer/optim/optimizer_options.h"
#include "worker/trainer/optim/ownership.h"

namespace caravan::trainer {

class Optimizer {
 public:
  // Takes the master copy from the store's values. store and data outlive the optimizer.
  Optimizer(ParameterStore& store, Communicator& data, const AdamWOptions& options, int zero_stage);

  // Gradients count `gradient_scale` times.
  void update(double learning_rate, double gradient_scale);

 private:
  void update_group(bool weight_decay, double learning_rate, double gradient_scale);
  at::Tensor weights(const UpdateRange& range) const;

  ParameterStore& store_;
  Communicator& data_;
  const AdamWOptions options_;
  const bool sharded_;
  const Updates updates_;
  at::Tensor first_moment_;
  at::Tensor second_moment_;
  at::Tensor master_;  // undefined where the values themselves are wide enough
  at::Tensor steps_;
};

}  // namespace caravan::trainer
