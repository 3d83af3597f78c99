// Bytes of the tensors of one block on one rank; every size in the tables is one of these.
#pragma once

#include "planner/memory/block_table.h"

namespace caravan::planner {

struct BlockSizes {
  explicit BlockSizes(const StageShape& stage);

  bool gathers = false;      // sequence parallelism over more than one rank
  bool reduces = false;      // partial sums over more than one rank
  int64_t tokens = 0;        // of the micro-batch
  int64_t local_tokens = 0;  // of this rank in norm and residual regions
  int64_t element = 0;       // bytes of a stored element
  int64_t wide = 0;          // bytes of an element of statistics and sums

  // Columns of this rank.
  int64_t heads = 0;        // of all query heads
  int64_t fused_heads = 0;  // of query, key and value heads
  int64_t ffn = 0;

  // Bytes of whole tensors.
  int64_t local_hidden = 0;  // local tokens × hidden
  int64_t full_hidden = 0;   // all tokens × hidden
  int64_t statistics = 0;    // one wide number per local token
  int64_t qkv = 0;
  int64_t attention = 0;  // output of attention before its projection
  int64_t log_sums = 0;   // of attention: per token and query head
  int64_t gate_up = 0;
  int64_t gated = 0;  // SwiGLU's output
};

}  // namespace caravan::planner
