// Floating point operations of training one token, forward and backward, and the model FLOPs utilisation that
// follows.
//
// The definitions are those of the PaLM paper (arXiv 2204.02311, appendix B): six operations per parameter
// that takes part in a matrix product, which the lookup table of the embedding does not, and twelve per
// layer, head, head dimension and position for attention. What is computed again comes from the table of
// work.
#pragma once

#include "planner/work/operation.h"
#include "planner/work/stage_shape.h"

namespace caravan::planner {

struct FlopsPerToken {
  double model = 0;         // numerator of `mfu`
  double model_causal = 0;  // of `mfu_causal`: a token attends to half of the sequence on average
  double hardware = 0;      // of `hfu`: also what is made again
};

// recomputed: operations of one token, of all layers.
FlopsPerToken flops_per_token(const ModelShape& shape, int64_t sequence_length, double recomputed);

// Of the rows of a block that make something again; attention not causal, as in `mfu`.
double recomputed_flops(const Operations& rows);
// Those of our trainer for each token of that stage's layers.
double recomputed_flops_per_token(const StageShape& stage);

// Fraction of `devices` peaks (FLOP/s each) that `tokens_per_second` of the whole job amount to.
double utilisation(double flops_per_token, double tokens_per_second, double devices, double peak_flops);

}  // namespace caravan::planner
