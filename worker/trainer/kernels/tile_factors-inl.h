// What attention's tiles are multiplied with, for files that include vectors-inl.h: vectors, after widening
// them to the type of sums, or AMX, which takes bf16 as it is and the weights rounded to it.
//
// Both are known by the same names. Rows of a tensor are the left or the right factor of a product; Across
// has the columns of what is loaded as a left one as rows, on the right. Scores are what a product makes and
// softmax turns into weights, the left factor of the next, across too. Buffers have room() for so many rows
// or columns.
#if defined(CARAVAN_TILE_FACTORS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef CARAVAN_TILE_FACTORS_INL_H
#undef CARAVAN_TILE_FACTORS_INL_H
#else
#define CARAVAN_TILE_FACTORS_INL_H
#endif

#include <hwy/highway.h>

#include <algorithm>

#include "worker/trainer/kernels/amx_products.h"
#include "worker/trainer/kernels/attention_heads.h"
#include "worker/trainer/kernels/instruction_set.h"
#include "worker/trainer/kernels/tile_product-inl.h"
#include "worker/trainer/kernels/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace caravan::kernels::HWY_NAMESPACE {

template <typename T>
struct VectorProducts {
  using Element = T;
  using W = Wide<T>;
  struct Registers {};

  // Of a tile of scores on the diagonal: few, and the product is as fast as of many.
  static constexpr int64_t kDiagonalRows = 16;
  static int64_t room(int64_t size) { return size; }

  class Rows {
   public:
    Rows(int64_t rows, int64_t columns) : rows_(rows, columns) {}

    void load(Tile<const T> from, int64_t rows, int64_t columns) {
      widen<T>(from, rows, columns, rows_.tile());
    }
    void load_left(Tile<const T> from, int64_t rows, int64_t columns) { load(from, rows, columns); }
    void load_right(Tile<const T> from, int64_t rows, int64_t columns) { load(from, rows, columns); }
    Tile<const W> left(int64_t first_row = 0) const { return rows_.tile().from(first_row); }
    Tile<const W> right() const { return rows_.tile(); }

   private:
    Buffer<W> rows_;
  };

  class Across {
   public:
    Across(int64_t rows, int64_t columns) : across_(columns, rows) {}

    void take(const Rows& loaded, int64_t rows, int64_t columns) {
      transpose<W>(loaded.left(), rows, columns, across_.tile());
    }
    Tile<const W> right() const { return across_.tile(); }

   private:
    Buffer<W> across_;
  };

  class Scores {
   public:
    Scores() : scores_(kTile, kTile) {}
    Tile<W> tile() const { return scores_.tile(); }
    Tile<const W> left(int64_t, int64_t) { return scores_.tile(); }
    Tile<const W> left_across(int64_t, int64_t) { return scores_.tile().transposed(); }

   private:
    Buffer<W> scores_;
  };

  static void multiply(Tile<const W> a, Tile<const W> b, Tile<W> c, ProductSize size, Into into) {
    tile_product<W>(a, b, c, size, into);
  }
  // To rows of a tensor, behind which there is no room.
  static void add_product(Tile<const W> a, Tile<const W> b, Tile<W> c, ProductSize size) {
    tile_product<W>(a, b, c, size, Into::Sum);
  }
};

struct AmxProducts {
  using Element = c10::BFloat16;
  using W = float;
  using Registers = amx::Registers;
  using Left = Tile<const c10::BFloat16>;
  using Right = Tile<const uint32_t>;

  static constexpr int64_t kDiagonalRows = amx::kStep;
  static int64_t room(int64_t size) { return amx::whole_steps(size); }

  class Rows {
   public:
    Rows(int64_t rows, int64_t columns)
        : rows_(room(rows), room(columns)), pairs_(room(rows) / 2, room(columns)) {}

    void load(Left from, int64_t rows, int64_t columns) {
      load_left(from, rows, columns);
      load_right(from, rows, columns);
    }
    void load_left(Left from, int64_t rows, int64_t columns) { amx::copy(from, rows, columns, rows_.tile()); }
    void load_right(Left from, int64_t rows, int64_t columns) {
      amx::pair_up(from, rows, columns, pairs_.tile());
    }
    Left left(int64_t first_row = 0) const { return rows_.tile().from(first_row); }
    Right right() const { return pairs_.tile(); }
    Right words() const { return amx::words_of(rows_.tile()); }  // of the left one

   private:
    Buffer<c10::BFloat16> rows_;
    Buffer<uint32_t> pairs_;
  };

  class Across {
   public:
    Across(int64_t rows, int64_t columns) : pairs_(room(columns) / 2, room(rows)) {}

    void take(const Rows& loaded, int64_t rows, int64_t columns) {
      amx::transpose(loaded.words(), room(rows), room(columns) / 2, pairs_.tile());
    }
    Right right() const { return pairs_.tile(); }

   private:
    Buffer<uint32_t> pairs_;
  };

  class Scores {
   public:
    Scores() : scores_(kTile, kTile), pairs_(kTile / 2, kTile), rounded_(kTile, kTile) {}
    Tile<W> tile() const { return scores_.tile(); }
    Left left(int64_t rows, int64_t columns) {
      clear_behind(rows);
      amx::round(scores_.tile(), room(rows), room(columns), rounded_.tile());
      return rounded_.tile();
    }
    Left left_across(int64_t rows, int64_t columns) {
      clear_behind(rows);
      amx::round_in_pairs(scores_.tile(), room(rows), room(columns), pairs_.tile());
      amx::transpose(pairs_.tile(), room(rows) / 2, room(columns), amx::words_of(rounded_.tile()));
      return rounded_.tile();
    }

   private:
    void clear_behind(int64_t rows) const {
      std::fill(scores_.tile().at(rows), scores_.tile().at(room(rows)), W{0});
    }

    Buffer<W> scores_;
    Buffer<uint32_t> pairs_;
    Buffer<c10::BFloat16> rounded_;
  };

  static void multiply(Left a, Right b, Tile<W> c, ProductSize size, Into into) {
    amx::multiply(a, b, c,
                  {.rows = room(size.rows), .depth = room(size.depth), .columns = room(size.columns)}, into);
  }
  static void add_product(Left a, Right b, Tile<W> c, ProductSize size) {
    if (room(size.rows) == size.rows && room(size.columns) == size.columns)
      return multiply(a, b, c, size, Into::Sum);
    const Buffer<W> made(room(size.rows), room(size.columns));
    multiply(a, b, made.tile(), size, Into::New);
    for (int64_t row = 0; row < size.rows; ++row) {
      for_vectors<W>(0, size.columns, [&](int64_t i, auto extent) HWY_ATTR {
        store(hn::Add(load(c.at(row) + i, extent), load(made.tile().at(row) + i, extent)), c.at(row) + i,
              extent);
      });
    }
  }
};

// body.operator()<Products>() with those that this instruction set has for storage type T.
template <typename T, typename Body>
void with_products(const Body& body) {
#if HWY_TARGET <= HWY_AVX3
  if constexpr (std::is_same_v<T, c10::BFloat16>) {
    if (instruction_set() == InstructionSet::Amx) return body.template operator()<AmxProducts>();
  }
#endif
  body.template operator()<VectorProducts<T>>();
}

}  // namespace caravan::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // the guard, which highway flips from one instruction set to the next
