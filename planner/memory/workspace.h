// Temporary tensors of the trainer's kernels, in bytes; exact.
//
// Not in here: what LibTorch and oneDNN allocate inside a product of matrices or attention, which depends on
// the processor, and which the trainer does not count either (worker/trainer/memory/counting_allocator.h).
// Measured on processors with AVX-512 and with AMX: up to 2 MiB a thread in each, and with AMX attention in
// bf16 also packs keys and values anew, each as large as a sequence's queries.
#pragma once

#include "planner/memory/block_table.h"

namespace caravan::planner {

class Workspace {
 public:
  explicit Workspace(const StageShape& stage) : stage_(stage) {}

  int64_t attention_backward() const;
  int64_t swiglu_backward() const;
  int64_t weight_gradient(int64_t rows, int64_t columns) const;
  // Of a sum over the tensor group, of that many elements of storage type or of statistics.
  int64_t sum_stored(int64_t elements) const;
  int64_t sum_statistics(int64_t elements) const;

  int64_t local_vocabulary() const;  // padding included
  int64_t chunk_tokens() const;      // whose logits exist at the same time
  // Logits of one chunk of tokens in all their forms, and the statistics of their softmax.
  int64_t logits() const;

 private:
  StageShape stage_;
};

}  // namespace caravan::planner
