// Bytes of the tensors of one block on one rank; every size in the table of work is one of these.
#pragma once

#include "planner/work/stage_shape.h"

namespace caravan::planner {

struct BlockSizes {
  explicit BlockSizes(const StageShape& stage);

  bool gathers = false;      // sequence parallelism over more than one rank
  bool reduces = false;      // partial sums over more than one rank
  int64_t tokens = 0;        // of the micro-batch, or the segment at work
  int64_t local_tokens = 0;  // of this rank in norm and residual regions
  int64_t element = 0;       // bytes of a stored element
  int64_t wide = 0;          // bytes of an element of statistics and sums
  bool widens = false;       // sums are wider than what is stored

  // Columns of this rank.
  int64_t hidden = 0;       // of every rank
  int64_t heads = 0;        // of all query heads
  int64_t fused_heads = 0;  // of query, key and value heads
  int64_t ffn = 0;
  int64_t vocabulary = 0;  // padding included

  // Bytes of whole tensors.
  int64_t local_hidden = 0;  // local tokens × hidden
  int64_t full_hidden = 0;   // all tokens × hidden
  int64_t statistics = 0;    // one wide number per local token
  int64_t qkv = 0;
  int64_t attention = 0;  // output of attention before its projection
  int64_t log_sums = 0;   // of attention: per token and query head
  int64_t keys_and_values = 0;
  int64_t gate_up = 0;
  int64_t gated = 0;  // SwiGLU's output

  // Sums of gradients by the keys and values of segments that others stand behind: what the backward of a
  // last segment makes for those before it, and what that of any other gives back.
  int64_t lent_gradients = 0;
  int64_t borrowed_gradients = 0;

  // Tokens whose logits exist at the same time, and how many such chunks there are.
  int64_t chunk_tokens = 0;
  int64_t chunks = 1;

  // Bytes that operations take for a moment.
  int64_t norm_gradient = 0;
};

}  // namespace caravan::planner
