// What a rank holds of a checkpoint's tensors, as bytes: its weights, and the optimizer's states of what it
// updates.
//
// Both ways are the walk of model/owned_parts.h with another body. Writing visits what the rank answers for
// among those that hold it too, a slice for each data parallel rank, whether states are sharded or not, so
// that all ranks write and nobody writes twice. Reading visits all weights that it holds and all states that
// it updates. On a processor's memory nothing is copied.
#pragma once

#include "checkpoint/folder/checkpoint.h"
#include "checkpoint/folder/rank_writer.h"
#include "checkpoint/folder/weights_folder.h"
#include "worker/trainer/model/parameters.h"
#include "worker/trainer/optim/optimizer.h"

namespace caravan::trainer {

// The types in which tensors of this rank lie in memory and in files.
checkpoint::StateTypes state_types(at::ScalarType storage);

struct RankState {
  ParameterStore& parameters;
  Optimizer& optimizer;
  const StagePlacement& placement;
  DataShard slice;  // of the data group
};

// To the end, also where nothing is left to be written: files are on disk and the rank has said so.
Status write_state(const RankState& state, const checkpoint::FilePlan& plan, checkpoint::RankWriter& writer);

// What a failure leaves is neither the old state nor the new.
Status read_state(checkpoint::Checkpoint& from, const RankState& state);

// Weights alone, of a model of the same shape in elements of any type; of a new optimizer, which keeps its
// zeros. Master copies get what the file has and not what is left of it in the type of the weights.
Status read_weights(checkpoint::WeightsFolder& from, const RankState& state);

// The weights of a rank that updates none.
Status read_values(checkpoint::WeightsFolder& from, const ParameterStore& parameters,
                   const StagePlacement& placement);

}  // namespace caravan::trainer
