// The boundaries between regions of a layer that are cut by tokens or replicated, and those that are cut by
// heads, features or vocabulary (Megatron's tensor parallelism, arXiv 1909.08053, with sequence parallelism,
// arXiv 2205.05198).
//
// With sequence parallelism a rank holds T / size tokens in the outer regions, else all of them. A group of
// one: both functions return what they are given.
#pragma once

#include <ATen/core/Tensor.h>

#include "worker/trainer/comm/communicator.h"

namespace caravan::trainer {

class TensorRegion {
 public:
  TensorRegion(Communicator& group, bool sequence_parallel)
      : group_(group), by_tokens_(sequence_parallel && group.size() > 1) {}

  // Into the inner region: all tokens on every rank.
  at::Tensor enter(at::Tensor local_TD) const;
  // Out of it: the sum of the ranks' partial results, of this rank's tokens.
  at::Tensor leave(at::Tensor partial_TD) const;

  Communicator& group() const { return group_; }

 private:
  Communicator& group_;
  const bool by_tokens_;
};

}  // namespace caravan::trainer
