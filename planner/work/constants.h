// Sizes that the trainer's kernels work with and the table of work counts with: they stand here alone.
#pragma once

#include <algorithm>
#include <cstdint>

namespace caravan::planner {

// Parameters begin at multiples of so many elements: 64 bytes of bf16, so that products start on a cache
// line.
inline constexpr int64_t kParameterAlignment = 32;

// Elements of a temporary tensor of SwiGLU's backward; stays in the second-level cache.
inline constexpr int64_t kSwigluBlockElements = int64_t{1} << 16;

// Elements of a weight gradient in storage type on its way to the wider sum.
inline constexpr int64_t kWeightGradientBlockElements = int64_t{1} << 20;

// Logits that exist at the same time. On a CPU they stay in a cache, but products of fewer tokens than the
// smallest chunk are slow; on a GPU each chunk reads the head's weights from memory once more, which the
// products of about a thousand tokens hide.
inline constexpr int64_t kLogitsChunkElements = int64_t{1} << 21;
inline constexpr int64_t kSmallestLogitsChunk = 64;
inline constexpr int64_t kGpuLogitsChunkElements = int64_t{1} << 27;

// A group of more ranks adds up over the network, though all are on one machine.
inline constexpr int kMostRanksSharingMemory = 16;

// Elements that a rank receives at a time over the network to add them to a sum.
inline constexpr int64_t kExchangeChunkElements = int64_t{64} << 10;

// Elements whose squares are added up at a time for the gradient norm.
inline constexpr int64_t kNormChunkElements = int64_t{16} << 10;

// Elements that are updated at a time on trial.
inline constexpr int64_t kUpdateChunkElements = int64_t{1} << 17;

constexpr int64_t round_up(int64_t value, int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

// Rows of a block of at most so many elements; at least one.
constexpr int64_t block_rows(int64_t elements, int64_t rows, int64_t columns) {
  return std::clamp<int64_t>(elements / columns, 1, rows);
}

// Tokens whose logits exist at the same time.
constexpr int64_t logits_chunk_tokens(int64_t local_vocabulary, bool gpu) {
  return std::max(kSmallestLogitsChunk,
                  (gpu ? kGpuLogitsChunkElements : kLogitsChunkElements) / local_vocabulary);
}

}  // namespace caravan::planner
