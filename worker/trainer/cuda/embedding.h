// Lookup of token embeddings and its backward: what worker/trainer/kernels/embedding.h does.
//
// The gradients of a token that comes often are added up by one block in the order of the tokens, so that the
// bits are those of the CPU. Which tokens are the same is found out on the host, which has read them
// (embedding_order).
#pragma once

#include "worker/trainer/cuda/launch.h"

namespace caravan::cuda {

struct EmbeddingForward {
  Storage storage;
  std::int64_t tokens, columns;
  std::int64_t vocabulary;    // rows of the table
  std::int64_t first_token;   // the id of the first one; other ids give zeros
  const std::int64_t* token;  // [tokens], ids
  const void* table;          // [vocabulary, columns]
  void* output;               // [tokens, columns]
};
CARAVAN_CUDA_API LaunchResult embedding_forward(const EmbeddingForward& arguments, Stream stream);

// Where each row of the table is needed, in ascending order: row[g] at the places position[start[g]] ...
// position[start[g + 1] - 1], ascending too. The shape depends on the number of tokens only, so that it can
// be part of a graph: groups that are not needed are empty.
struct EmbeddingOrder {
  std::int32_t* row;       // [tokens]
  std::int32_t* start;     // [tokens + 1]
  std::int32_t* position;  // [tokens]
};

// In memory of the host; fewer than 2^31 tokens.
CARAVAN_CUDA_API void embedding_order(const std::int64_t* token, std::int64_t tokens,
                                      std::int64_t first_token, std::int64_t vocabulary,
                                      const EmbeddingOrder& order);

struct EmbeddingBackward {
  Storage storage;
  std::int64_t tokens, columns;
  EmbeddingOrder order;   // in memory of the device
  const void* gradient;   // [tokens, columns], by the output
  float* table_gradient;  // [vocabulary, columns], added to
};
CARAVAN_CUDA_API LaunchResult embedding_backward(const EmbeddingBackward& arguments, Stream stream);

}  // namespace caravan::cuda
