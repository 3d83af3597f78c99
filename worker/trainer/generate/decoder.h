// A model that continues a text, token by token, on one process: forwards alone, with the keys and values of
// the tokens so far kept by layer, so that each token is worked on once.
//
// Layers and kernels are those that train: tokens that are here already are the segment before the ones that
// come, of which a piece is worked on at a time. Memory: the weights in their type; for each token that may
// come 2 · layers · key heads · head size elements, and a row of the rotary table; what a layer makes of a
// piece.
#pragma once

#include <ATen/core/Tensor.h>

#include <span>
#include <vector>

#include "planner/model/shape.h"
#include "worker/trainer/comm/solo_communicator.h"
#include "worker/trainer/model/head.h"
#include "worker/trainer/model/layer.h"
#include "worker/trainer/model/parameters.h"
#include "worker/trainer/model/tensor_region.h"

namespace caravan::trainer {

// Of a model that stands on one rank as a whole.
StagePlacement whole_model(const planner::ModelShape& model);

// Of everything that is as large as the model, the text or a piece of it; logits come on top.
int64_t decoder_bytes(const planner::ModelShape& model, const ParameterLayout& layout, at::ScalarType storage,
                      int64_t most_tokens);

class Decoder {
 public:
  // parameters: laid out for whole_model. most_tokens: that are ever added.
  Decoder(const planner::ModelShape& model, ParameterStore parameters, int64_t most_tokens);
  Decoder(const Decoder&) = delete;  // layers refer to the region
  Decoder& operator=(const Decoder&) = delete;

  static constexpr int64_t kPieceTokens = 512;  // enough for products to run at their full speed

  // Adds tokens (below the vocabulary, at least one) and gives the logits of the one after them: V elements,
  // fp32 (fp64 for fp64). However the tokens come, sums have the same terms; products of other sizes may add
  // them in another order.
  at::Tensor add(std::span<const int64_t> tokens);

 private:
  at::Tensor run(std::span<const int64_t> piece);
  kernels::AttentionHistory history_of(std::size_t layer) const;
  void remember(std::size_t layer, const at::Tensor& kv_TC);

  ParameterStore parameters_;
  SoloCommunicator alone_;
  TensorRegion region_;
  at::Tensor embedding_VD_;
  std::vector<Layer> layers_;
  Head head_;
  std::vector<at::Tensor> cache_NC_;  // by layer, of the tokens so far and room for the others
  int64_t tokens_ = 0;
};

}  // namespace caravan::trainer
