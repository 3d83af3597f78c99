#include "planner/work/block_sizes.h"

#include <algorithm>

#include "planner/work/constants.h"

namespace caravan::planner {

BlockSizes::BlockSizes(const StageShape& stage) {
  const ModelShape& model = stage.model;
  gathers = stage.sequence_parallel && stage.tensor > 1;
  reduces = stage.tensor > 1;
  tokens = stage.micro_batch_size * stage.tokens_at_work();
  local_tokens = gathers ? tokens / stage.tensor : tokens;
  element = bytes_of(stage.storage);
  wide = stage.storage == ElementType::FP64 ? 8 : 4;
  widens = wide != element;

  hidden = model.hidden;
  heads = model.heads / stage.tensor * model.head_dim;
  fused_heads = heads + 2 * (model.kv_heads / stage.tensor) * model.head_dim;
  ffn = model.ffn / stage.tensor;
  vocabulary = (model.vocab + stage.tensor - 1) / stage.tensor;

  local_hidden = local_tokens * hidden * element;
  full_hidden = tokens * hidden * element;
  statistics = local_tokens * wide;
  qkv = tokens * fused_heads * element;
  attention = tokens * heads * element;
  log_sums = tokens * (model.heads / stage.tensor) * wide;
  keys_and_values = qkv - attention;
  gate_up = tokens * 2 * ffn * element;
  gated = tokens * ffn * element;

  const int64_t kv_gradient = keys_and_values / element * wide / stage.tokens_at_work();  // of a token
  if (stage.has_later_segments()) {
    borrowed_gradients = stage.tokens_at_work() * kv_gradient;
  } else {
    lent_gradients = stage.tokens_before() * kv_gradient;
  }

  chunk_tokens = std::min(tokens, logits_chunk_tokens(std::max<int64_t>(vocabulary, 1), stage.gpu));
  chunks = (tokens + chunk_tokens - 1) / chunk_tokens;

  norm_gradient = norm_gradient_parts(local_tokens, stage.gpu) * hidden * wide;
}

}  // namespace caravan::planner
