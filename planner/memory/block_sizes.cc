#include "planner/memory/block_sizes.h"

namespace caravan::planner {

int64_t bytes_of(ElementType type) {
  switch (type) {
    case ElementType::BF16:
      return 2;
    case ElementType::FP32:
      return 4;
    case ElementType::FP64:
    case ElementType::INT64:
      return 8;
  }
  return 0;
}

BlockSizes::BlockSizes(const StageShape& stage) {
  const ModelShape& model = stage.model;
  gathers = stage.sequence_parallel && stage.tensor > 1;
  reduces = stage.tensor > 1;
  tokens = stage.micro_batch_size * stage.sequence_length;
  local_tokens = gathers ? tokens / stage.tensor : tokens;
  element = bytes_of(stage.storage);
  wide = stage.storage == ElementType::FP64 ? 8 : 4;

  heads = model.heads / stage.tensor * model.head_dim;
  fused_heads = heads + 2 * (model.kv_heads / stage.tensor) * model.head_dim;
  ffn = model.ffn / stage.tensor;

  local_hidden = local_tokens * model.hidden * element;
  full_hidden = tokens * model.hidden * element;
  statistics = local_tokens * wide;
  qkv = tokens * fused_heads * element;
  attention = tokens * heads * element;
  log_sums = tokens * (model.heads / stage.tensor) * wide;
  gate_up = tokens * 2 * ffn * element;
  gated = tokens * ffn * element;
}

}  // namespace caravan::planner
