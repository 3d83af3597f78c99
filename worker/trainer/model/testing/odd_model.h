// A model whose sizes divide by 2 and 4 but fill no shard of the vocabulary evenly.
#pragma once

#include "planner/model/shape.h"

namespace caravan::trainer {

inline planner::ModelShape odd_model(int64_t hidden, int64_t layers, bool tied) {
  planner::ModelShape model;
  model.hidden = hidden;
  model.layers = layers;
  model.heads = 4;
  model.kv_heads = 2;
  model.head_dim = 6;
  model.ffn = 20;
  model.vocab = 37;
  model.tied_embeddings = tied;
  return model;
}

}  // namespace caravan::trainer
