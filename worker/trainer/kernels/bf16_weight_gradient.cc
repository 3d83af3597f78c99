#include "worker/trainer/kernels/bf16_weight_gradient.h"

#include <hwy/base.h>

#include <algorithm>
#include <cstdint>

#include "worker/trainer/kernels/bf16_pairs.h"
#include "worker/trainer/kernels/instruction_set.h"
#include "worker/trainer/kernels/parallel_ranges.h"
#include "worker/trainer/kernels/tile.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

// A product of pairs adds two terms to a sum: of tokens 2p and 2p + 1, which stand in one word side by side.
// A task has a panel of dw's columns; for some hundreds of tokens at a time it pairs them up, those of x for
// the panel, those of dy for a few rows of dw, and keeps sums of 6 rows by 64 columns in registers.

namespace caravan::kernels {

#if defined(__x86_64__)
namespace {

#define CARAVAN_BF16_DOT __attribute__((target("avx512f,avx512bw,avx512vl,avx512bf16")))

constexpr int kVectors = 4;
constexpr int64_t kPanelColumns = kVectors * kWords;
constexpr int64_t kPanelRows = 48;
constexpr int kBlockRows = 6;
constexpr int64_t kTokens = 1024;

using Pairs = Tile<uint32_t>;

// dw: kRows rows of which `columns` are there.
template <int kRows>
CARAVAN_BF16_DOT void add_block(Pairs dy, Pairs x, int64_t pairs, Tile<float> dw, int64_t columns) {
  __m512 sums[kRows][kVectors];
  HWY_UNROLL(6)
  for (int row = 0; row < kRows; ++row) HWY_UNROLL(4)
  for (int v = 0; v < kVectors; ++v)
    sums[row][v] = _mm512_maskz_loadu_ps(words_there(v * kWords, columns), dw.at(row) + v * kWords);
  for (int64_t pair = 0; pair < pairs; ++pair) {
    __m512bh factors[kVectors];
    HWY_UNROLL(4)
    for (int v = 0; v < kVectors; ++v)
      factors[v] = reinterpret_cast<__m512bh>(_mm512_loadu_si512(x.at(pair) + v * kWords));
    HWY_UNROLL(6) for (int row = 0; row < kRows; ++row) {
      const auto factor = reinterpret_cast<__m512bh>(_mm512_set1_epi32(static_cast<int>(dy.at(pair)[row])));
      HWY_UNROLL(4)
      for (int v = 0; v < kVectors; ++v) sums[row][v] = _mm512_dpbf16_ps(sums[row][v], factor, factors[v]);
    }
  }
  HWY_UNROLL(6)
  for (int row = 0; row < kRows; ++row) HWY_UNROLL(4)
  for (int v = 0; v < kVectors; ++v)
    _mm512_mask_storeu_ps(dw.at(row) + v * kWords, words_there(v * kWords, columns), sums[row][v]);
}

void add_rows(Pairs dy, Pairs x, int64_t pairs, Tile<float> dw, int64_t rows, int64_t columns) {
  int64_t row = 0;
  const auto of_dy = [&] { return Pairs{.data = dy.data + row, .row = dy.row}; };
  for (; row + kBlockRows <= rows; row += kBlockRows)
    add_block<kBlockRows>(of_dy(), x, pairs, dw.from(row), columns);
  for (; row < rows; ++row) add_block<1>(of_dy(), x, pairs, dw.from(row), columns);
}

// Columns first ... first + columns of dw.
void add_panel(const at::Tensor& dy_TO, const at::Tensor& x_TI, at::Tensor& dw_OI, int64_t first,
               int64_t columns) {
  const Buffer<uint32_t> x_pairs(kTokens / 2, kPanelColumns), dy_pairs(kTokens / 2, kPanelRows);
  const auto rows_of = [](const at::Tensor& tensor, int64_t token, int64_t column) {
    return Tile<const c10::BFloat16>{
        .data = tensor.const_data_ptr<c10::BFloat16>() + token * tensor.stride(0) + column,
        .row = tensor.stride(0)};
  };
  for (int64_t token = 0; token < x_TI.size(0); token += kTokens) {
    const int64_t tokens = std::min(kTokens, x_TI.size(0) - token);
    pair_up(rows_of(x_TI, token, first), tokens, columns, x_pairs.tile());
    for (int64_t row = 0; row < dw_OI.size(0); row += kPanelRows) {
      const int64_t rows = std::min(kPanelRows, dw_OI.size(0) - row);
      pair_up(rows_of(dy_TO, token, row), tokens, rows, dy_pairs.tile());
      float* const dw = dw_OI.mutable_data_ptr<float>() + row * dw_OI.stride(0) + first;
      add_rows(dy_pairs.tile(), x_pairs.tile(), (tokens + 1) / 2, {.data = dw, .row = dw_OI.stride(0)}, rows,
               columns);
    }
  }
}

}  // namespace

bool has_bf16_dot_products() {
  static const bool has = processor_knows("avx512_bf16");
  return has && instruction_set() == InstructionSet::Avx512;
}

bool has_quick_bf16_dot_products() {
  return has_bf16_dot_products() && __builtin_cpu_is("amd") != 0;
}

void add_bf16_weight_gradient(const at::Tensor& dy_TO, const at::Tensor& x_TI, at::Tensor& dw_OI) {
  const int64_t columns = dw_OI.size(1);
  const int64_t panels = (columns + kPanelColumns - 1) / kPanelColumns;
  parallel_ranges(panels, kPanelColumns * dw_OI.size(0) * x_TI.size(0), [&](Range range) {
    for (int64_t panel = range.begin; panel < range.end; ++panel) {
      const int64_t first = panel * kPanelColumns;
      add_panel(dy_TO, x_TI, dw_OI, first, std::min(kPanelColumns, columns - first));
    }
  });
}

#else

bool has_bf16_dot_products() {
  return false;
}

bool has_quick_bf16_dot_products() {
  return false;
}

void add_bf16_weight_gradient(const at::Tensor&, const at::Tensor&, at::Tensor&) {}

#endif

}  // namespace caravan::kernels
