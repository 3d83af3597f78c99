// Temporary tensors of the trainer's kernels and of the LibTorch functions they call, in bytes.
//
// Exact, but for what oneDNN allocates inside a product of bf16 matrices: blocks per thread whose size
// depends on the processor. The formula fits those with AVX-512; it is a matter of a megabyte at most.
#pragma once

#include "planner/memory/block_table.h"

namespace caravan::planner {

class Workspace {
 public:
  explicit Workspace(const StageShape& stage) : stage_(stage) {}

  int64_t attention_forward() const;
  int64_t attention_backward() const;
  int64_t swiglu_backward() const;
  // Of a product of all tokens' rows with a matrix of so many columns, summing over `inner`.
  int64_t product(int64_t inner, int64_t columns) const;
  // Of a weight's gradient, which sums over all tokens.
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
