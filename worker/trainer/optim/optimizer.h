// AdamW (Loshchilov and Hutter, arXiv 1711.05101) over the flat buffers of one rank.
//
// Moments are fp32 (fp64 in fp64 models). Weights are updated in fp32: with fp32 storage in place, with bf16
// storage in a master copy that is rounded into the values after each update. With ZeRO-1 a rank holds states
// for its slices only, and update() gathers the new values from the data group.
//
// An update can be tried first, where it is not known yet whether it may be made (optimizer post-validation,
// planner/schedule/post_validation.h): that changes the values alone. Confirmed, it is to the bit what update
// makes.
//
// Memory: 8 bytes for each state element, 4 more with bf16 storage, or as many as a value has where updates
// are tried; state elements are all elements of the flat buffers, divided by the data parallel size with
// ZeRO-1. A trial takes three tensors of kUpdateChunkElements (planner/work/constants.h), update() nothing.
#pragma once

#include <span>

#include "worker/trainer/comm/communicator.h"
#include "worker/trainer/optim/optimizer_options.h"
#include "worker/trainer/optim/ownership.h"

namespace caravan::trainer {

// How much a rank updates, and whether it tries first.
struct OptimizerPlace {
  int zero_stage = 1;
  bool tries_updates = false;
};

// One element for each that the rank updates, at state_offset_of (ownership.h).
struct OptimizerStates {
  at::Tensor first_moment;
  at::Tensor second_moment;
  at::Tensor master;  // undefined where the values themselves are wide enough
};

class Optimizer {
 public:
  // Takes the master copy from the store's values. store and data outlive the optimizer.
  Optimizer(ParameterStore& store, Communicator& data, const AdamWOptions& options,
            const OptimizerPlace& place);

  // Gradients count `gradient_scale` times.
  void update(double learning_rate, double gradient_scale);

  // The values become what update(learning_rate, 1) makes of them. Then one of the two below comes first.
  void try_update(double learning_rate);
  // The same learning rate and gradients.
  void confirm(double learning_rate);
  void take_back();

  // To be saved, and to be filled with what was saved.
  const OptimizerStates& states() const { return states_; }
  DataShard shard() const { return shard_; }
  int updates() const;
  void set_updates(int updates);

 private:
  // Weights, gradients and moments of a run of elements.
  struct Piece {
    at::Tensor weights, gradients, first, second;
  };
  Piece piece(const UpdateRange& range) const;
  at::Tensor weights(const UpdateRange& range) const;

  void advance(double learning_rate);
  void update_pieces(std::span<const Piece> pieces, bool weight_decay, double learning_rate) const;
  void restore();
  void publish();

  ParameterStore& store_;
  Communicator& data_;
  const AdamWOptions options_;
  const DataShard shard_;  // that this rank updates
  const Updates updates_;  // in pieces of kUpdateChunkElements at most
  OptimizerStates states_;
  at::Tensor untried_;  // the values before a trial, where there is no master copy
  at::Tensor steps_;
};

}  // namespace caravan::trainer
