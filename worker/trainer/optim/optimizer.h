// AdamW (Loshchilov and Hutter, arXiv 1711.05101) over the flat buffers of one rank.
//
// Moments are fp32 (fp64 in fp64 models), or bf16 rounded at random (kernels/adamw.h). Weights are updated in
// fp32: with fp32 storage in place, with bf16 storage in a master copy that is rounded into the values with
// each update. With ZeRO-1 a rank holds states for its slices only, and update() begins to gather the new
// values from the data group, bucket by bucket: where the group has a lane for that, it goes on while the
// next step has begun, so whoever reads values awaits them. An update leaves all gradients zero, for the next
// step to add to.
//
// An update can be tried first, where it is not known yet whether it may be made (optimizer post-validation,
// planner/schedule/post_validation.h): that changes the values alone. Confirmed, it is to the bit what update
// makes.
//
// Memory: 8 bytes for each state element, or 4 with bf16 moments; 4 more with bf16 storage, or as many as a
// value has where updates are tried; state elements are all elements of the flat buffers, divided by the data
// parallel size with ZeRO-1. Neither an update nor a trial takes any for a moment.
#pragma once

#include <memory>
#include <vector>

#include "worker/trainer/comm/communicator.h"
#include "worker/trainer/kernels/adamw.h"
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

  // Until the values of the bucket, or all of them, are those of the last update or trial. Throws
  // CommunicationError.
  void await_values(int bucket);
  void await_values();

  // To be saved, and to be filled with what was saved.
  const OptimizerStates& states() const { return states_; }
  DataShard shard() const { return shard_; }
  int updates() const { return updates_done_; }
  void set_updates(int updates) { updates_done_ = updates; }

 private:
  kernels::AdamWTensors tensors(const UpdateRange& range) const;
  at::Tensor weights(const UpdateRange& range) const;

  // The next one.
  kernels::AdamW next(const UpdateRange& range, double learning_rate, double gradient_scale) const;
  void advance(double learning_rate, double gradient_scale);
  void forget_gradients_of_others();
  void restore();
  void publish();

  ParameterStore& store_;
  Communicator& data_;
  const AdamWOptions options_;
  const DataShard shard_;  // that this rank updates
  const Updates updates_;
  OptimizerStates states_;
  at::Tensor untried_;  // the values before a trial, where there is no master copy
  std::vector<std::unique_ptr<PendingTransfer>> gathered_;  // by bucket, until somebody waited for it
  int updates_done_ = 0;
};

}  // namespace caravan::trainer
