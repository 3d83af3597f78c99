// Sizes that the trainer's kernels work with and the table of work counts with: they stand here alone.
#pragma once

#include <algorithm>
#include <cstdint>

namespace caravan::planner {

// Parameters begin at multiples of so many elements: 64 bytes of bf16, so that products start on a cache
// line.
inline constexpr int64_t kParameterAlignment = 32;

// The gradient of a norm's weight is added up in parts: of so many rows at least, and in so many at most; on
// a GPU rows take turns (worker/trainer/cuda/rms_norm.h).
inline constexpr int64_t kNormGradientRows = 16;
inline constexpr int64_t kNormGradientParts = 64;
inline constexpr int64_t kGpuNormGradientParts = 256;

// Logits that exist at the same time. On a CPU they stay in a cache, but each chunk reads the head's weights
// from memory once more, and of fewer tokens than the smallest chunk its products wait for that; on a GPU the
// products of about a thousand tokens hide it.
inline constexpr int64_t kLogitsChunkElements = int64_t{1} << 21;
inline constexpr int64_t kSmallestLogitsChunk = 512;
inline constexpr int64_t kGpuLogitsChunkElements = int64_t{1} << 27;

// A group of more ranks adds up over the network, though all are on one machine.
inline constexpr int kMostRanksSharingMemory = 16;

// Elements that a rank receives at a time over the network to add them to a sum.
inline constexpr int64_t kExchangeChunkElements = int64_t{64} << 10;

constexpr int64_t round_up(int64_t value, int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

constexpr int64_t norm_gradient_parts(int64_t rows, bool gpu) {
  if (gpu) return std::min(rows, kGpuNormGradientParts);
  return std::clamp<int64_t>(rows / kNormGradientRows, 1, kNormGradientParts);
}

// Tokens whose logits exist at the same time.
constexpr int64_t logits_chunk_tokens(int64_t local_vocabulary, bool gpu) {
  return std::max(kSmallestLogitsChunk,
                  (gpu ? kGpuLogitsChunkElements : kLogitsChunkElements) / local_vocabulary);
}

}  // namespace caravan::planner
