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

// Blocks of oneDNN's products of bf16 matrices.
constexpr int64_t kBlockRows = 256;
constexpr int64_t kBlockColumns = 64;
constexpr int64_t kBlockInner = 512;
constexpr int64_t kProductBytes = 1024;
constexpr int64_t kTokensSharedByThreads = 2048;  // from here on threads sum over tokens of their own

// Rows that a thread packs at a time.
int64_t block_rows(int64_t rows) {
  const int64_t blocks = (rows + kBlockRows - 1) / kBlockRows;
  return (rows + blocks - 1) / blocks;
}

// Threads share out the columns of a product in blocks, and where these do not suffice its rows.
int64_t rows_of_thread(int64_t rows, int64_t columns, int64_t threads) {
  const int64_t column_blocks = std::max<int64_t>(1, columns / kBlockColumns);
  int64_t column_parts = std::min(threads, column_blocks);
  while (threads % column_parts != 0) --column_parts;
  const int64_t row_parts = threads / column_parts;
  return block_rows((rows + row_parts - 1) / row_parts);
}

int64_t bf16_block(int64_t rows, int64_t columns) {
  return rows * columns * bytes_of(ElementType::BF16);
}
int64_t sums_block(int64_t rows, int64_t columns) {
  return rows * columns * bytes_of(ElementType::FP32);
}

int64_t exchanged_elements(int64_t elements, int64_t ranks) {
  constexpr int64_t kChunk = 64 << 10;
  return std::min((elements + ranks - 1) / ranks, kChunk);
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
  const int64_t rounded = stage_.storage == ElementType::BF16 ? 3 * queries * keys : 0;
  const bool grouped = stage_.model.heads != stage_.model.kv_heads;
  return (grouped ? 4 : 3) * one_sequence + stage_.threads * (wide * size.wide + rounded * size.element);
}

int64_t Workspace::swiglu_backward() const {
  constexpr int64_t kBlockElements = 1 << 16;
  const BlockSizes size(stage_);
  const int64_t ffn = stage_.model.ffn / stage_.tensor;
  return 2 * std::clamp<int64_t>(kBlockElements / ffn, 1, size.tokens) * ffn * size.element;
}

// Per thread: its part of the other matrix repacked, sums in fp32.
int64_t Workspace::product(int64_t inner, int64_t columns) const {
  if (stage_.storage != ElementType::BF16) return 0;
  const int64_t rows = rows_of_thread(BlockSizes(stage_).tokens, columns, stage_.threads);
  return stage_.threads * (kProductBytes + sums_block(rows, kBlockColumns) +
                           bf16_block(std::min(inner, kBlockInner), kBlockColumns));
}

// A block of rows in storage type, to be added to the fp32 gradient, and what its product needs: both
// matrices repacked.
int64_t Workspace::weight_gradient(int64_t rows, int64_t columns) const {
  if (stage_.storage != ElementType::BF16) return 0;
  constexpr int64_t kBlockElements = 1 << 20;
  const BlockSizes size(stage_);
  const int64_t result_rows = std::clamp<int64_t>(kBlockElements / columns, 1, rows);
  const bool threads_share_rows = size.tokens < kTokensSharedByThreads;
  const int64_t row_parts = threads_share_rows ? stage_.threads : 1;
  const int64_t packed_rows = block_rows((result_rows + row_parts - 1) / row_parts);
  const bool sums_in_steps = size.tokens > 2 * kBlockInner - 1;
  return bf16_block(result_rows, columns) +
         stage_.threads * (kProductBytes + sums_block(packed_rows, sums_in_steps ? columns : kBlockColumns) +
                           bf16_block(std::min(size.tokens, kBlockInner), packed_rows + kBlockColumns));
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
