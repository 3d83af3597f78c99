#include "planner/memory/workspace.h"

#include <algorithm>

#include "planner/memory/block_sizes.h"

namespace caravan::planner {
namespace {

int64_t exchanged_elements(int64_t elements, int64_t ranks) {
  constexpr int64_t kChunk = 64 << 10;
  return std::min((elements + ranks - 1) / ranks, kChunk);
}

}  // namespace

// Gradients of one sequence's queries, keys and values, for each query head.
int64_t Workspace::attention_backward() const {
  return 3 * BlockSizes(stage_).attention / stage_.micro_batch_size;
}

int64_t Workspace::swiglu_backward() const {
  constexpr int64_t kBlockElements = 1 << 16;
  const BlockSizes size(stage_);
  const int64_t ffn = stage_.model.ffn / stage_.tensor;
  return 2 * std::clamp<int64_t>(kBlockElements / ffn, 1, size.tokens) * ffn * size.element;
}

// A block of rows in storage type, to be added to the fp32 gradient.
int64_t Workspace::weight_gradient(int64_t rows, int64_t columns) const {
  if (stage_.storage != ElementType::BF16) return 0;
  constexpr int64_t kBlockElements = 1 << 20;
  return std::clamp<int64_t>(kBlockElements / columns, 1, rows) * columns * bytes_of(ElementType::BF16);
}

// What a rank receives of its own part, a chunk at a time; for bf16 also the sum of the chunk and a term of
// it in fp32.
int64_t Workspace::sum_stored(int64_t elements) const {
  const BlockSizes size(stage_);
  const int64_t sums = stage_.storage == ElementType::BF16 ? 2 * size.wide : 0;
  return exchanged_elements(elements, stage_.tensor) * (size.element + sums);
}

int64_t Workspace::sum_statistics(int64_t elements) const {
  return exchanged_elements(elements, stage_.tensor) * BlockSizes(stage_).wide;
}

int64_t Workspace::local_vocabulary() const {
  return (stage_.model.vocab + stage_.tensor - 1) / stage_.tensor;
}

int64_t Workspace::chunk_tokens() const {
  constexpr int64_t kElements = 1 << 21;
  constexpr int64_t kSmallest = 64;
  return std::min(BlockSizes(stage_).tokens, std::max(kSmallest, kElements / local_vocabulary()));
}

int64_t Workspace::logits() const {
  constexpr int64_t kStatistics = 3;
  const BlockSizes size(stage_);
  const int64_t per_element = size.element + (stage_.storage == ElementType::BF16 ? size.wide : 0);
  return chunk_tokens() * (local_vocabulary() * per_element + kStatistics * size.wide);
}

}  // namespace caravan::planner
