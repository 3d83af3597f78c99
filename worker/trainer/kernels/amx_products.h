// Products of small matrices of bf16 with sums in fp32, by the tiles that Intel's processors have since
// Sapphire Rapids (AMX), and what makes factors of rows.
//
// Sizes are whole steps; zeros fill up what is less. The right factor has two rows in one, as pairs: a word
// (p, j) is its elements (2p, j) and (2p + 1, j). What these functions do where instruction_set() is not Amx
// is not defined.
#pragma once

#include <c10/util/BFloat16.h>

#include <cstdint>

#include "worker/trainer/kernels/tile.h"

namespace caravan::kernels::amx {

inline constexpr int64_t kStep = 32;

constexpr int64_t whole_steps(int64_t size) {
  return (size + kStep - 1) / kStep * kStep;
}

using Rows = Tile<c10::BFloat16>;
using Pairs = Tile<uint32_t>;

inline Pairs words_of(Rows rows) {
  return {.data = reinterpret_cast<uint32_t*>(rows.data), .row = rows.row / 2};
}

// The calling thread's registers are set up for products. Nobody else may use them meanwhile.
class Registers {
 public:
  Registers();
  ~Registers();
  Registers(const Registers&) = delete;
  Registers& operator=(const Registers&) = delete;
};

// c = a · b, or c + a · b.
void multiply(Tile<const c10::BFloat16> a, Tile<const uint32_t> b, Tile<float> c, ProductSize size,
              Into into);

// rows × columns elements are there, the others up to whole steps become zero.
void copy(Tile<const c10::BFloat16> from, int64_t rows, int64_t columns, Rows to);
void pair_up(Tile<const c10::BFloat16> from, int64_t rows, int64_t columns, Pairs to);

// Rounded to the nearest; rows and columns are whole steps.
void round(Tile<const float> from, int64_t rows, int64_t columns, Rows to);
void round_in_pairs(Tile<const float> from, int64_t rows, int64_t columns, Pairs to);

// Of rows, taken as words, this makes pairs of their columns, of pairs rows of their columns. Both sizes are
// multiples of 16.
void transpose(Tile<const uint32_t> from, int64_t rows, int64_t columns, Tile<uint32_t> to);

}  // namespace caravan::kernels::amx
