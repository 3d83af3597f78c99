// Rows of bf16 taken two by two, as instructions that multiply bf16 want their right factor: a word (p, j) is
// the elements (2p, j) and (2p + 1, j). Needs AVX-512.
#pragma once

#include <c10/util/BFloat16.h>

#include <algorithm>
#include <cstdint>

#include "worker/trainer/kernels/tile.h"

namespace caravan::kernels {

// In a vector of 512 bits.
inline constexpr int64_t kWords = 16;

// Of a vector of words from column i on, those that are there, as a mask.
inline uint16_t words_there(int64_t i, int64_t columns) {
  return static_cast<uint16_t>((1U << std::clamp<int64_t>(columns - i, 0, kWords)) - 1U);
}

// What is not there is zero: columns behind the last, up to a row of pairs, and a row behind an odd number of
// them.
void pair_up(Tile<const c10::BFloat16> from, int64_t rows, int64_t columns, Tile<uint32_t> pairs);

}  // namespace caravan::kernels
