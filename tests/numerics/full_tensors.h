// Between a rank's shards and the full tensors of Hugging Face names.
#pragma once

#include "tests/numerics/reference_model.h"
#include "worker/trainer/comm/mesh.h"
#include "worker/trainer/model/parameters.h"
#include "worker/trainer/optim/gradient_sync.h"

namespace caravan::numerics {

// Copies this rank's part of each weight into its store, rounding to the storage type.
void load_weights(trainer::ParameterStore& store, const NamedTensors& weights);

// As at the end of a step; afterwards the sums stand everywhere, on ZeRO-1 too.
void sum_gradients(trainer::ParameterStore& store, trainer::Mesh& mesh,
                   const trainer::GradientSyncOptions& options);

// Adds this rank's gradients to the full tensors, which appear on first use as zeros of the gradients' type.
// A tensor that every rank of the tensor group has whole is taken from the first.
void add_gradients(const trainer::ParameterStore& store, int tensor_rank, NamedTensors& full);

}  // namespace caravan::numerics
