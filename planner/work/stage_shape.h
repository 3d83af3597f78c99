// What the table of work is made for: a run of layers with the ends of the model that stand with it, on one
// tensor parallel rank, and the micro-batch that it works on, or a segment of its sequences.
#pragma once

#include <cstdint>
#include <numeric>
#include <vector>

#include "planner/model/shape.h"
#include "planner/recomputed_part.h"

namespace caravan::planner {

enum class ElementType { BF16, FP32, FP64, INT64 };

constexpr int64_t bytes_of(ElementType type) {
  switch (type) {
    case ElementType::BF16:
      return 2;
    case ElementType::FP32:
      return 4;
    case ElementType::FP64:
    case ElementType::INT64:
      break;
  }
  return 8;
}

// Assumes: heads, kv_heads, ffn are multiples of `tensor`, and so are the tokens of a micro-batch, and of
// each of its segments, with sequence parallelism.
struct StageShape {
  ModelShape model;
  int64_t layers = 0;
  bool has_embedding = true;
  bool has_head = true;
  int64_t tensor = 1;
  bool sequence_parallel = false;
  int64_t recomputed_layers = 0;  // the first ones run a part of themselves again
  RecomputedPart recomputed_part = RecomputedPart::Layer;
  int64_t micro_batch_size = 1;
  int64_t sequence_length = 0;
  std::vector<int64_t> segments = {};  // of a sequence that is cut: tokens of each
  int segment = 0;                     // the one at work
  ElementType storage = ElementType::FP32;
  bool gpu = false;

  // Of each sequence.
  int64_t tokens_at_work() const { return segments.empty() ? sequence_length : segments[segment]; }
  // In the segments before it.
  int64_t tokens_before() const {
    return std::accumulate(segments.begin(), segments.begin() + segment, int64_t{0});
  }
  bool has_later_segments() const { return segment + 1 < static_cast<int>(segments.size()); }
};

}  // namespace caravan::planner
