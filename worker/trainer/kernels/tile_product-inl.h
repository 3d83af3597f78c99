// Matrix products of tiles that stay in a cache, for files that include vectors-inl.h. LibTorch's own
// products cost too much to be called for some dozens of rows and columns.
#if defined(CARAVAN_TILE_PRODUCT_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef CARAVAN_TILE_PRODUCT_INL_H
#undef CARAVAN_TILE_PRODUCT_INL_H
#else
#define CARAVAN_TILE_PRODUCT_INL_H
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <type_traits>
#include <utility>

#include "worker/trainer/kernels/tile.h"
#include "worker/trainer/kernels/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace caravan::kernels::HWY_NAMESPACE {

// Vectors of sums that stay in registers, of which AVX-512 has 32 and others 16.
inline constexpr int kBlockVectors = HWY_TARGET <= HWY_AVX3 ? 4 : 2;
inline constexpr int kBlockSums = 4 * kBlockVectors;

// Into the type of sums.
template <typename T>
void widen(Tile<const T> from, int64_t rows, int64_t columns, Tile<Wide<T>> to) {
  for (int64_t row = 0; row < rows; ++row) {
    for_vectors<Wide<T>>(0, columns, [&](int64_t i, auto extent) HWY_ATTR {
      store(load(from.at(row) + i, extent), to.at(row) + i, extent);
    });
  }
}

inline constexpr int64_t kSquare = 4;

// Of four rows and columns.
HWY_INLINE void transpose_square(Tile<const float> from, Tile<float> to) {
  const hn::FixedTag<float, kSquare> d;
  const hn::RepartitionToWide<decltype(d)> pairs;
  const auto row = [&](int64_t i) HWY_ATTR { return hn::LoadU(d, from.at(i)); };
  const auto put = [&](int64_t i, auto pair) HWY_ATTR { hn::StoreU(hn::BitCast(d, pair), d, to.at(i)); };
  const auto left = hn::BitCast(pairs, hn::InterleaveLower(d, row(0), row(1)));
  const auto right = hn::BitCast(pairs, hn::InterleaveUpper(d, row(0), row(1)));
  const auto left_below = hn::BitCast(pairs, hn::InterleaveLower(d, row(2), row(3)));
  const auto right_below = hn::BitCast(pairs, hn::InterleaveUpper(d, row(2), row(3)));
  put(0, hn::InterleaveLower(pairs, left, left_below));
  put(1, hn::InterleaveUpper(pairs, left, left_below));
  put(2, hn::InterleaveLower(pairs, right, right_below));
  put(3, hn::InterleaveUpper(pairs, right, right_below));
}

template <typename W>
void transpose(Tile<const W> from, int64_t rows, int64_t columns, Tile<W> to) {
  const int64_t square = std::is_same_v<W, float> ? kSquare : 1;
  for (int64_t row = 0; row < rows; row += square) {
    for (int64_t column = 0; column < columns; column += square) {
      const Tile<const W> corner{.data = from.at(row) + column, .row = from.row};
      const Tile<W> to_corner{.data = to.at(column) + row, .row = to.row};
      if constexpr (std::is_same_v<W, float>) {
        if (row + square <= rows && column + square <= columns) {
          transpose_square(corner, to_corner);
          continue;
        }
      }
      for (int64_t i = 0; i < std::min(square, rows - row); ++i)
        for (int64_t k = 0; k < std::min(square, columns - column); ++k) to_corner.at(k)[i] = corner.at(i)[k];
    }
  }
}

// kRows rows of kVectors vectors, of each of which there is `extent`.
template <int kRows, int kVectors, typename W, typename Extent>
HWY_INLINE void product_block(Tile<const W> a, int64_t depth, Tile<const W> b, Tile<W> c, Into into,
                              Extent extent) {
  const Lanes<W> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  Vector<W> sums[kRows][kVectors];
  HWY_UNROLL(16)
  for (int i = 0; i < kRows; ++i) HWY_UNROLL(16)
  for (int v = 0; v < kVectors; ++v)
    sums[i][v] = into == Into::Sum ? load(c.at(i) + v * lanes, extent) : hn::Zero(d);
  for (int64_t k = 0; k < depth; ++k) {
    Vector<W> factors[kVectors];
    HWY_UNROLL(16) for (int v = 0; v < kVectors; ++v) factors[v] = load(b.at(k) + v * lanes, extent);
    HWY_UNROLL(16) for (int i = 0; i < kRows; ++i) {
      const auto factor = hn::Set(d, a.at(i)[k * a.column]);
      HWY_UNROLL(16)
      for (int v = 0; v < kVectors; ++v) sums[i][v] = hn::MulAdd(factor, factors[v], sums[i][v]);
    }
  }
  HWY_UNROLL(16)
  for (int i = 0; i < kRows; ++i)
    HWY_UNROLL(16) for (int v = 0; v < kVectors; ++v) store(sums[i][v], c.at(i) + v * lanes, extent);
}

template <int kVectors, typename W, typename Extent>
HWY_INLINE void product_columns(Tile<const W> a, int64_t rows, int64_t depth, Tile<const W> b, Tile<W> c,
                                Into into, Extent extent) {
  int64_t i = 0;
  const auto blocks_of = [&]<int kRows>() HWY_ATTR {
    for (; i + kRows <= rows; i += kRows)
      product_block<kRows, kVectors>(a.from(i), depth, b, c.from(i), into, extent);
  };
  blocks_of.template operator()<kBlockSums / kVectors>();
  blocks_of.template operator()<4>();
  blocks_of.template operator()<1>();
}

// c = a · b, or c + a · b. Elements of a row of b, and of one of c, stand side by side.
template <typename W>
void tile_product(Tile<const W> a, Tile<const W> b, Tile<W> c, ProductSize size, Into into) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(Lanes<W>()));
  const auto columns_from = [&](int64_t at) HWY_ATTR {
    return std::pair(Tile<const W>{b.data + at, b.row}, Tile<W>{c.data + at, c.row});
  };
  int64_t at = 0;
  for (; at + kBlockVectors * lanes <= size.columns; at += kBlockVectors * lanes) {
    const auto [factors, sums] = columns_from(at);
    product_columns<kBlockVectors>(a, size.rows, size.depth, factors, sums, into, Whole());
  }
  for_vectors<W>(at, size.columns, [&](int64_t i, auto extent) HWY_ATTR {
    const auto [factors, sums] = columns_from(i);
    product_columns<1>(a, size.rows, size.depth, factors, sums, into, extent);
  });
}

}  // namespace caravan::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // the guard, which highway flips from one instruction set to the next
