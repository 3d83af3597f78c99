// Adds up what the ranks know of the gradients, once per step, in place and bucket by bucket.
//
// Afterwards the whole gradient of the global batch stands in the rank's slice of every bucket (ZeRO-1) or
// everywhere (ZeRO-0). With gather_slices it stands everywhere on ZeRO-1 too (to be looked at; training does
// not need it).
#pragma once

#include "worker/trainer/comm/mesh.h"
#include "worker/trainer/model/parameters.h"

namespace caravan::trainer {

struct GradientSyncOptions {
  bool sequence_parallel = false;
  int zero_stage = 1;
};

void sum_gradients(ParameterStore& store, Mesh& mesh, const GradientSyncOptions& options);

// Every rank's slice of the flat tensor reaches all ranks of the data group.
void gather_slices(const ParameterLayout& layout, const at::Tensor& flat, Communicator& data);

}  // namespace caravan::trainer
