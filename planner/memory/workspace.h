// Temporary tensors of the trainer's kernels and of the LibTorch functions they call, in bytes.
#pragma once

#include "planner/memory/block_table.h"

namespace caravan::planner {

class Workspace {
 public:
  explicit Workspace(const StageShape& stage) : stage_(stage) {}

  int64_t attention_forward() const;
  int64_t attention_backward() const;
  int64_t swiglu_backward() const;
  int64_t weight_gradient(int64_t rows, int64_t columns) const;
  int64_t all_reduce(int64_t bytes) const;

  int64_t local_vocabulary() const;  // padding included
  // Logits of one chunk of tokens in all their forms, and the statistics of their softmax.
  int64_t logits() const;

 private:
  StageShape stage_;
};

}  // namespace caravan::planner
