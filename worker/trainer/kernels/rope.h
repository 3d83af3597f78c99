// Rotary position embedding (Su et al., arXiv 2104.09864) in the half-split order of Hugging Face's Llama:
// elements k and k + K/2 of a head turn together by position · frequency_k.
//
// The table is made in fp32 step by step as Hugging Face does, so that rotations agree (in fp64 for fp64
// models).
#pragma once

#include <ATen/core/Tensor.h>

#include "planner/model/shape.h"

namespace caravan::kernels {

// Row s: cosines of position s in the first K/2 columns, sines in the others. fp32, or fp64 for fp64 storage.
at::Tensor rope_table(const planner::ModelShape& model, int64_t sequence_length, at::ScalarType storage);

enum class Rotation { Forward, Backward };

// Turns the first `heads` heads of every row in place; rows are tokens, sequences one after the other.
void rope_apply(at::Tensor& heads_TE, const at::Tensor& table_SK, int64_t heads, Rotation rotation);

}  // namespace caravan::kernels
