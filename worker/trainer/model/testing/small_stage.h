// A stage that is small enough to be held against the table of work byte by byte.
#pragma once

#include <ATen/core/Tensor.h>

#include "planner/work/stage_shape.h"

namespace caravan::trainer {

inline planner::StageShape small_stage(int64_t layers) {
  planner::StageShape stage;
  stage.model.hidden = 64;
  stage.model.layers = layers;
  stage.model.heads = 8;
  stage.model.kv_heads = 4;
  stage.model.head_dim = 8;
  stage.model.ffn = 160;
  stage.layers = layers;
  return stage;
}

inline at::ScalarType scalar_type(planner::ElementType type) {
  switch (type) {
    case planner::ElementType::BF16:
      return at::kBFloat16;
    case planner::ElementType::FP32:
      return at::kFloat;
    case planner::ElementType::FP64:
      return at::kDouble;
    case planner::ElementType::INT64:
      return at::kLong;
  }
  return at::kFloat;
}

}  // namespace caravan::trainer
