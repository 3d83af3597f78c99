// One pipeline stage of a Llama model on one rank: hand-written forward and backward, block by block, of each
// of its chunks of layers.
//
// The chunk with the embedding takes tokens, the others the activations of the group of layers before; the
// one with the head ends in the loss, the others in activations. What a forward leaves for its backward is in
// StageSaved, exactly the rows of planner/work/blocks.h. Gradients are added to the store's gradient buffer.
//
// The logits live for a few tokens at a time: the forward of the chunk with the head makes the gradients
// of the head in the same pass (also the head's weight gradient) and saves only the gradient by the last
// layer's output. Recomputation starts from a layer's input, or from what is left of it, and ends at what its
// backward needs, so the down projection is not repeated.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <memory>
#include <vector>

#include "planner/model/shape.h"
#include "planner/recomputed_part.h"
#include "worker/trainer/comm/communicator.h"
#include "worker/trainer/model/parameters.h"

namespace caravan::trainer {

struct StageOptions {
  planner::ModelShape model;
  StagePlacement placement;
  int64_t micro_batch_size = 1;
  int64_t sequence_length = 0;
  std::vector<int64_t> segments = {};  // of a sequence that is cut: tokens of each
  bool sequence_parallel = false;
  planner::RecomputedPart recomputed_part = planner::RecomputedPart::Layer;
  at::ScalarType storage = at::kFloat;
  bool on_gpu = false;  // as the planner was told
};

// One micro-batch of token ids, or a segment of its sequences, int64, B × S each, on the host. Targets below
// 0 do not count.
struct TokenBatch {
  at::Tensor inputs_BS;   // read by the chunk with the embedding
  at::Tensor targets_BS;  // read by the chunk with the head
  // Gradients are those of loss_scale · (sum of token losses): 1 / real tokens of the global batch.
  double loss_scale = 1;
};

// What ranks exchange of parameters goes on while a stage computes: it says, by bucket of its store, what it
// needs and what it is done with. What is empty is not called.
struct BucketHooks {
  // A forward is about to read the values.
  std::function<void(int bucket)> before_read = {};
  // A micro-batch, or a segment of one, has added all that it will to the gradients: to the head's with its
  // forward, to all others with its gradients of weights.
  std::function<void(int bucket)> after_add = {};
};

struct StageSaved;  // of one micro-batch in one chunk, all its segments together

struct StageOutput {
  at::Tensor activations_TD{};  // absent with the head; T = B·S tokens of this rank (÷ tensor size with
                                // sequence parallelism)
  // With the head: of the tokens, unscaled, equal on all ranks of the tensor group; one fp64 number on the
  // device.
  at::Tensor loss_sum{};
  std::shared_ptr<StageSaved> saved{};
};

// Gradients of weights that wait for their turn, in the order in which they run.
using WeightGradientQueue = std::vector<std::function<void()>>;

// Each gives its tensors back when it is done.
void run_all(WeightGradientQueue queue);

class Stage {
 public:
  Stage(StageOptions options, ParameterStore& store, Communicator& tensor_group, BucketHooks hooks = {});
  ~Stage();

  // activations_TD: input of the chunk, undefined with the embedding. Tensors that are handed over are taken
  // by value, so that the stage frees or overwrites them as early as it can: move them in. earlier: of a
  // segment, what the forwards of those before it have saved, which is added to.
  StageOutput forward(int chunk, const TokenBatch& batch, at::Tensor activations_TD,
                      std::shared_ptr<StageSaved> earlier = {});
  // Loss only (evaluation). Nothing is saved but what segments behind this one need.
  StageOutput evaluate(int chunk, const TokenBatch& batch, at::Tensor activations_TD,
                       std::shared_ptr<StageSaved> earlier = {});
  // Of the last segment that has had none. gradient_TD: of the loss by the chunk's output; undefined with the
  // head. Returns the gradient by its input (undefined with the embedding). Consumes what forward saved,
  // layer by layer. With a queue the weight gradients of the layers that may wait (layer.h) are appended to
  // it, with the tensors they need; without one (nullptr) they run at once.
  at::Tensor backward(const std::shared_ptr<StageSaved>& saved, at::Tensor gradient_TD,
                      WeightGradientQueue* queue);

  // Shape of the activations between stages.
  std::vector<int64_t> boundary_shape(int segment = 0) const;

 private:
  struct Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace caravan::trainer
