// What the segments of cut sequences hand to each other in one layer: keys and values to the segments behind,
// and, in the backward, which goes from the last segment to the first, gradients by them to the segments
// before.
//
// Rows are those of a segment's tokens, sequence by sequence; columns C = 2·G·K the keys of all heads, then
// their values. Empty where sequences are whole.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

namespace caravan::kernels {

struct AttentionHistory {
  // Of the segments before the one at hand, first one first.
  std::vector<at::Tensor> kv_TC = {};
  // Of the same segments, from the backward of the last one on: what the segments behind have added up so
  // far, fp32 (fp64 for fp64).
  std::vector<at::Tensor> kv_gradients_TC = {};

  // Rows before the segment at hand.
  int64_t rows() const;

  // The forward of a segment with others behind it is done.
  void add(at::Tensor segment_kv_TC);

  // Before the backward of a segment: makes kv_TC that of the segments before it again. Returns the gradient
  // that the segments behind it have made, undefined for the last one.
  at::Tensor begin_backward();

  // In the backward of the last segment, before it adds to them.
  void make_gradients();
};

}  // namespace caravan::kernels
