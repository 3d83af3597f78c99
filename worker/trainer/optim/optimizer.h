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

// One element for each that the rank updates, at state_offset_of (ownership.h).
struct OptimizerStates {
  at::Tensor first_moment;
  at::Tensor second_moment;
  at::Tensor master;  // undefined where the values themselves are wide enough
};

class Optimizer {
 public:
  // Takes the master copy from the store's values. store and data outlive the optimizer.
  Optimizer(ParameterStore& store, Communicator& data, const AdamWOptions& options, int zero_stage);

  // Gradients count `gradient_scale` times.
  void update(double learning_rate, double gradient_scale);

  // To be saved, and to be filled with what was saved.
  const OptimizerStates& states() const { return states_; }
  DataShard shard() const { return shard_; }
  int updates() const;
  void set_updates(int updates);

 private:
  void update_group(bool weight_decay, double learning_rate, double gradient_scale);
  at::Tensor weights(const UpdateRange& range) const;

  ParameterStore& store_;
  Communicator& data_;
  const AdamWOptions options_;
  const DataShard shard_;  // that this rank updates
  const Updates updates_;
  OptimizerStates states_;
  at::Tensor steps_;
};

}  // namespace caravan::trainer
