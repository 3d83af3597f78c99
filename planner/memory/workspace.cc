#include "planner/memory/workspace.h"

#include <algorithm>

#include "planner/memory/block_sizes.h"

namespace caravan::planner {
namespace {

// Rows and columns of the score blocks in LibTorch's attention for the CPU.
struct ScoreBlock {
  int64_t queries;
  int64_t keys;
};

ScoreBlock score_block(int64_t sequence_length) {
  const int64_t queries = sequence_length >= 768 ? 256 : sequence_length >= 192 ? 64 : 32;
  return {.queries = std::min(queries, sequence_length), .keys = std::min<int64_t>(512, sequence_length)};
}

}  // namespace

// Per thread: scores, their maximum and sum, and the output; for bf16 also the rounded scores.
int64_t Workspace::attention_forward() const {
  const BlockSizes size(stage_);
  const auto [queries, keys] = score_block(stage_.sequence_length);
  const int64_t wide = queries * keys + 2 * queries + queries * stage_.model.head_dim;
  const int64_t rounded = stage_.storage == ElementType::BF16 ? queries * keys : 0;
  return stage_.threads * (wide * size.wide + rounded * size.element);
}

// Gradients of all query heads' queries, keys and values; per thread scores and their gradient, for bf16 also
// rounded.
int64_t Workspace::attention_backward() const {
  const BlockSizes size(stage_);
  const auto [queries, keys] = score_block(stage_.sequence_length);
  const int64_t one_sequence = size.attention / stage_.micro_batch_size;
  const int64_t wide = 2 * queries * keys + queries;
  const int64_t rounded = stage_.storage == ElementType::BF16 ? 2 * queries * keys : 0;
  const bool grouped = stage_.model.heads != stage_.model.kv_heads;
  return (grouped ? 4 : 3) * one_sequence + stage_.threads * (wide * size.wide + rounded * size.element);
}

int64_t Workspace::swiglu_backward() const {
  return 0;
}

int64_t Workspace::weight_gradient(int64_t rows, int64_t columns) const {
  if (stage_.storage != ElementType::BF16) return 0;
  constexpr int64_t kElements = 1 << 20;
  const int64_t chunk = std::clamp<int64_t>(kElements / columns, 1, rows);
  return chunk * columns * bytes_of(ElementType::BF16);
}

int64_t Workspace::all_reduce(int64_t bytes) const {
  return stage_.storage == ElementType::BF16 ? 2 * bytes : 0;
}

int64_t Workspace::local_vocabulary() const {
  return (stage_.model.vocab + stage_.tensor - 1) / stage_.tensor;
}

int64_t Workspace::logits() const {
  const BlockSizes size(stage_);
  constexpr int64_t kElements = 1 << 21;
  const int64_t vocabulary = local_vocabulary();
  const int64_t chunk = std::min(size.tokens, std::max<int64_t>(64, kElements / vocabulary));
  const int64_t per_element = size.element + (stage_.storage == ElementType::BF16 ? size.wide : 0);
  return chunk * (vocabulary * per_element + 3 * size.wide);
}

}  // namespace caravan::planner
