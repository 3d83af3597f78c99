// Floating point operations of training one token, forward and backward, and the model FLOPs utilisation that
// follows.
//
// The definitions are those of the PaLM paper (arXiv 2204.02311, appendix B): six operations per parameter
// that takes part in a matrix product, which the lookup table of the embedding does not, and twelve per
// layer, head, head dimension and position for attention.
#pragma once

#include "planner/model/shape.h"

namespace caravan::planner {

struct FlopsPerToken {
  double model = 0;         // numerator of `mfu`
  double model_causal = 0;  // of `mfu_causal`: a token attends to half of the sequence on average
  double hardware = 0;      // of `hfu`: also what activation checkpointing computes again
};

FlopsPerToken flops_per_token(const ModelShape& shape, int64_t sequence_length,
                              bool activation_checkpointing);

// Fraction of `devices` peaks (FLOP/s each) that `tokens_per_second` of the whole job amount to.
double utilisation(double flops_per_token, double tokens_per_second, double devices, double peak_flops);

}  // namespace caravan::planner
