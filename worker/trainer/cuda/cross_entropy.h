// Cross entropy over a vocabulary that is cut over the tensor group, for a chunk of tokens at a time: the
// pieces of worker/trainer/kernels/cross_entropy.h, with the same statistics between them, so that the group
// meets as there:
//
//  - cross_entropy_maxima reads the logits, not the targets;
//  - the group all-reduces MAX of kMaximum;
//  - cross_entropy_sums reads the statistics and of each token one logit;
//  - the group all-reduces SUM of the others;
//  - cross_entropy_loss adds Σ log(sum) − target;
//  - cross_entropy_gradient: logits → gradient by the logits.
//
// The first piece adds up the exponentials too, less the rank's own maximum, which it leaves in the row of
// the targets until these are known; so the logits are read twice in all, and stay what they are until the
// last piece. A maximum is at least −3.4e38, also of no logits at all.
#pragma once

#include "worker/trainer/cuda/launch.h"

namespace caravan::cuda {

struct CrossEntropyChunk {
  Storage storage;  // of the logits
  std::int64_t tokens;
  std::int64_t vocabulary;      // of this rank; may be 0
  std::int64_t first_token;     // the id of its first column
  void* logits;                 // [tokens, vocabulary]
  const std::int64_t* targets;  // [tokens], ids; those below 0 do not count and get zero gradient
  float* statistics;            // [kernels::kStatistics, tokens]
};

CARAVAN_CUDA_API LaunchResult cross_entropy_maxima(const CrossEntropyChunk& chunk, Stream stream);
CARAVAN_CUDA_API LaunchResult cross_entropy_sums(const CrossEntropyChunk& chunk, Stream stream);
// Adds to *loss, in device memory, in fp64.
CARAVAN_CUDA_API LaunchResult cross_entropy_loss(const CrossEntropyChunk& chunk, double* loss, Stream stream);
// Of `scale` times the loss.
CARAVAN_CUDA_API LaunchResult cross_entropy_gradient(const CrossEntropyChunk& chunk, float scale,
                                                     Stream stream);

}  // namespace caravan::cuda
