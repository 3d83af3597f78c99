#include "worker/trainer/kernels/amx_products.h"

#include <algorithm>

#include "worker/trainer/kernels/bf16_pairs.h"

#if defined(__x86_64__)
#include <immintrin.h>
// Of the intrinsics themselves: GCC's bug 105593.
#pragma GCC diagnostic ignored "-Wuninitialized"

// A register has 16 rows of 64 bytes. Four hold 32 × 32 sums, to which two of each factor are multiplied, 32
// deep, so that each register that is loaded takes part in two products.

namespace caravan::kernels::amx {
namespace {

#define CARAVAN_AMX __attribute__((target("amx-tile,amx-bf16,avx512f,avx512bw,avx512vl,avx512bf16")))

constexpr int64_t kHalf = kStep / 2;

// As LDTILECFG wants it.
struct alignas(64) Configuration {
  uint8_t palette = 1;
  uint8_t start_row = 0;
  uint8_t reserved[14] = {};
  uint16_t bytes_of_a_row[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};
constexpr Configuration kAllOfThem;

CARAVAN_AMX void configure() {
  _tile_loadconfig(&kAllOfThem);
}

CARAVAN_AMX void release() {
  _tile_release();
}

// GCC does not know that loads and stores of these registers go to memory.
void make_memory_true() {
  asm volatile("" ::: "memory");
}

CARAVAN_AMX void multiply_block(Tile<const c10::BFloat16> a, Tile<const uint32_t> b, int64_t depth,
                                Tile<float> c, Into into) {
  const int64_t a_row = a.row * 2, b_row = b.row * 4, c_row = c.row * 4;
  float *const lower = c.at(kHalf), *const upper = c.data;
  if (into == Into::Sum) {
    _tile_loadd(0, upper, c_row);
    _tile_loadd(1, upper + kHalf, c_row);
    _tile_loadd(2, lower, c_row);
    _tile_loadd(3, lower + kHalf, c_row);
  } else {
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
  }
  for (int64_t k = 0; k < depth; k += kStep) {
    _tile_loadd(4, a.data + k, a_row);
    _tile_loadd(6, b.at(k / 2), b_row);
    _tile_loadd(7, b.at(k / 2) + kHalf, b_row);
    _tile_dpbf16ps(0, 4, 6);
    _tile_dpbf16ps(1, 4, 7);
    _tile_loadd(5, a.at(kHalf) + k, a_row);
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
  }
  _tile_stored(0, upper, c_row);
  _tile_stored(1, upper + kHalf, c_row);
  _tile_stored(2, lower, c_row);
  _tile_stored(3, lower + kHalf, c_row);
}

// 16 × 16 words: neighbours change places at distances of 1, 2, 4 and 8.
CARAVAN_AMX void transpose_block(Tile<const uint32_t> from, Tile<uint32_t> to) {
  __m512i a[16], b[16];
  for (int i = 0; i < 16; ++i) a[i] = _mm512_loadu_si512(from.at(i));
  for (int i = 0; i < 16; i += 2) {
    b[i] = _mm512_unpacklo_epi32(a[i], a[i + 1]);
    b[i + 1] = _mm512_unpackhi_epi32(a[i], a[i + 1]);
  }
  for (int i = 0; i < 16; i += 4) {
    for (int k = 0; k < 2; ++k) {
      a[i + 2 * k] = _mm512_unpacklo_epi64(b[i + k], b[i + k + 2]);
      a[i + 2 * k + 1] = _mm512_unpackhi_epi64(b[i + k], b[i + k + 2]);
    }
  }
  constexpr int kEven = 0x88, kOdd = 0xDD;  // quarters of two vectors
  for (int i = 0; i < 16; i += 8) {
    for (int k = 0; k < 4; ++k) {
      b[i + k] = _mm512_shuffle_i32x4(a[i + k], a[i + k + 4], kEven);
      b[i + k + 4] = _mm512_shuffle_i32x4(a[i + k], a[i + k + 4], kOdd);
    }
  }
  for (int i = 0; i < 8; ++i) {
    _mm512_storeu_si512(to.at(i), _mm512_shuffle_i32x4(b[i], b[i + 8], kEven));
    _mm512_storeu_si512(to.at(i + 8), _mm512_shuffle_i32x4(b[i], b[i + 8], kOdd));
  }
}

void clear_from(int64_t row, int64_t rows, Pairs pairs) {
  if (row < rows) std::fill(pairs.at(row), pairs.at(rows), 0U);
}

}  // namespace

Registers::Registers() {
  configure();
}

Registers::~Registers() {
  release();
}

void multiply(Tile<const c10::BFloat16> a, Tile<const uint32_t> b, Tile<float> c, ProductSize size,
              Into into) {
  make_memory_true();
  for (int64_t column = 0; column < size.columns; column += kStep) {
    for (int64_t row = 0; row < size.rows; row += kStep) {
      multiply_block(a.from(row), {.data = b.data + column, .row = b.row}, size.depth,
                     {.data = c.at(row) + column, .row = c.row}, into);
    }
  }
  make_memory_true();
}

void copy(Tile<const c10::BFloat16> from, int64_t rows, int64_t columns, Rows to) {
  for (int64_t row = 0; row < rows; ++row) {
    std::copy_n(from.at(row), columns, to.at(row));
    std::fill(to.at(row) + columns, to.at(row) + to.row, c10::BFloat16());
  }
  std::fill(to.at(rows), to.at(whole_steps(rows)), c10::BFloat16());
}

void pair_up(Tile<const c10::BFloat16> from, int64_t rows, int64_t columns, Pairs to) {
  kernels::pair_up(from, rows, columns, to);
  clear_from((rows + 1) / 2, whole_steps(rows) / 2, to);
}

CARAVAN_AMX void round(Tile<const float> from, int64_t rows, int64_t columns, Rows to) {
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t i = 0; i < columns; i += 2 * kWords) {
      const __m512bh both =
          _mm512_cvtne2ps_pbh(_mm512_loadu_ps(from.at(row) + i + kWords), _mm512_loadu_ps(from.at(row) + i));
      _mm512_storeu_si512(to.at(row) + i, reinterpret_cast<__m512i>(both));
    }
  }
}

CARAVAN_AMX void round_in_pairs(Tile<const float> from, int64_t rows, int64_t columns, Pairs to) {
  alignas(64) static constexpr uint16_t kInTurn[] = {0,  16, 1,  17, 2,  18, 3,  19, 4,  20, 5,
                                                     21, 6,  22, 7,  23, 8,  24, 9,  25, 10, 26,
                                                     11, 27, 12, 28, 13, 29, 14, 30, 15, 31};
  const __m512i in_turn = _mm512_load_si512(kInTurn);
  for (int64_t row = 0; row < rows; row += 2) {
    for (int64_t i = 0; i < columns; i += kWords) {
      const __m512bh both =
          _mm512_cvtne2ps_pbh(_mm512_loadu_ps(from.at(row + 1) + i), _mm512_loadu_ps(from.at(row) + i));
      _mm512_storeu_si512(to.at(row / 2) + i,
                          _mm512_permutexvar_epi16(in_turn, reinterpret_cast<__m512i>(both)));
    }
  }
}

void transpose(Tile<const uint32_t> from, int64_t rows, int64_t columns, Tile<uint32_t> to) {
  for (int64_t row = 0; row < rows; row += kWords) {
    for (int64_t column = 0; column < columns; column += kWords)
      transpose_block({.data = from.at(row) + column, .row = from.row},
                      {.data = to.at(column) + row, .row = to.row});
  }
}

}  // namespace caravan::kernels::amx
#endif
