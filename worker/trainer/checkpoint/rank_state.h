// What a rank holds of a checkpoint's tensors, as bytes: its weights, and the optimizer's states of what it
// updates.
//
// Reading is the walk of model/owned_parts.h with another body: it visits all weights that the rank holds and
// all states that it updates, and fills them where they lie. For writing see snapshot.h.
#pragma once

#include <cstddef>
#include <functional>

#include "checkpoint/folder/checkpoint.h"
#include "checkpoint/folder/weights_folder.h"
#include "worker/trainer/model/parameters.h"
#include "worker/trainer/optim/optimizer.h"

namespace caravan::trainer {

// The types in which tensors of this rank lie in memory and in files.
checkpoint::StateTypes state_types(at::ScalarType storage, bool bf16_moments);

struct RankState {
  ParameterStore& parameters;
  Optimizer& optimizer;
  const StagePlacement& placement;
};

// The flat tensor that holds all of this kind; undefined where the rank has none.
const at::Tensor& tensor_of(const RankState& state, checkpoint::StateKind kind);
// Where in it stands what belongs to an element of the flat values, which lies in this bucket.
int64_t offset_of(const RankState& state, checkpoint::StateKind kind, const Bucket& bucket, int64_t value);

// Of what is read, since all of it may take long.
struct Pieces {
  std::size_t bytes = 16 << 20;  // at most, a multiple of every element's
  std::function<void()> between = {};
};

// What a failure leaves is neither the old state nor the new.
Status read_state(checkpoint::Checkpoint& from, const RankState& state, const Pieces& pieces = {});

// Weights alone, of a model of the same shape in elements of any type; of a new optimizer, which keeps its
// zeros. Master copies get what the file has and not what is left of it in the type of the weights.
Status read_weights(checkpoint::WeightsFolder& from, const RankState& state, const Pieces& pieces = {});

// The weights of a rank that updates none.
Status read_values(checkpoint::WeightsFolder& from, const ParameterStore& parameters,
                   const StagePlacement& placement, const Pieces& pieces = {});

}  // namespace caravan::trainer
