// Heads as a library of attention leaves them, put beside each other in rows, as products read them.
#pragma once

#include "worker/trainer/cuda/launch.h"

namespace caravan::cuda {

// values[sequence][token][head] are head_dim values each, wherever the strides say; they come to rows that
// lie one after the other, token by token, from the first head's place on.
struct PlaceHeads {
  Storage storage;
  std::int64_t sequences, tokens, heads, head_dim;
  const void* values;
  std::int64_t sequence_stride, token_stride, head_stride;  // in values
  void* rows;                                               // [sequences · tokens][row_size]
  std::int64_t row_size;
  std::int64_t first_head;  // of these, in a row
};
CARAVAN_CUDA_API LaunchResult place_heads(const PlaceHeads& arguments, Stream stream);

}  // namespace caravan::cuda
