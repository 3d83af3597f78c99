#include <ATen/ops/empty.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <type_traits>
#include <vector>

#include "worker/trainer/kernels/attention_heads.h"
#include "worker/trainer/kernels/cpu_kernels.h"
#include "worker/trainer/kernels/instruction_set.h"
#include "worker/trainer/kernels/parallel_ranges.h"
#include "worker/trainer/kernels/storage_type.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "worker/trainer/kernels/attention_forward.cc"
#include "worker/trainer/kernels/each_instruction_set.h"
#include "worker/trainer/kernels/exponential-inl.h"
#include "worker/trainer/kernels/tile_factors-inl.h"
#include "worker/trainer/kernels/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace caravan::kernels::HWY_NAMESPACE {

template <typename W>
HWY_INLINE void scale_row(W* row, int64_t columns, W factor) {
  const auto factors = hn::Set(Lanes<W>(), factor);
  for_vectors<W>(0, columns, [=](int64_t i, auto extent) HWY_ATTR {
    store(hn::Mul(load(row + i, extent), factors), row + i, extent);
  });
}

template <typename W>
HWY_INLINE W largest(const W* scores, int64_t count) {
  const Lanes<W> d;
  auto most = hn::Set(d, -std::numeric_limits<W>::infinity());
  for_vectors<W>(0, count, [&](int64_t i, auto extent) HWY_ATTR {
    auto each = load(scores + i, extent);
    if constexpr (std::is_same_v<decltype(extent), Part>)
      each = hn::IfThenElse(hn::FirstN(d, static_cast<std::size_t>(extent.count)), each, most);
    most = hn::Max(most, each);
  });
  return hn::GetLane(hn::MaxOfLanes(d, most));
}

// The first `count` scores become e^(scale · score − shift), none of which may be above one, the others zero.
// Returns the sum.
template <typename W>
HWY_INLINE W exponentials(W* scores, int64_t count, int64_t columns, W scale, W shift) {
  const Lanes<W> d;
  const auto scales = hn::Set(d, scale), shifts = hn::Set(d, shift);
  const W total = sum<W>(count, [=](int64_t i, auto extent) HWY_ATTR {
    auto each = negative_exponential(hn::MulSub(load(scores + i, extent), scales, shifts));
    if constexpr (std::is_same_v<decltype(extent), Part>)
      each = hn::IfThenElseZero(hn::FirstN(d, static_cast<std::size_t>(extent.count)), each);
    store(each, scores + i, extent);
    return each;
  });
  std::fill(scores + count, scores + columns, W{0});
  return total;
}

// The queries of one head from one on, as many as share factors of keys, and what they have taken so far.
template <typename Products>
class QueriesForward {
 public:
  using T = typename Products::Element;
  using W = typename Products::W;

  QueriesForward(Range queries, const QueryHead<T>& head)
      : queries_(queries),
        columns_(head.columns),
        scale_(head.scale()),
        q_(count(), columns_),
        keys_across_(kTile, columns_),
        values_(kTile, columns_),
        output_(Products::room(count()), Products::room(columns_)),
        maxima_(count(), -std::numeric_limits<W>::infinity()),
        sums_(count(), W{0}) {
    q_.load_left(head.q.from(queries.begin), count(), columns_);
    std::fill(output_.tile().data, output_.tile().at(Products::room(count())), W{0});
  }

  void attend(const KeyHead<T>& span) {
    const int64_t end = span.is_causal ? queries_.end : span.tokens;
    for (int64_t key = 0; key < end; key += kTile) {
      const int64_t keys = std::min(kTile, end - key);
      values_.load_left(span.k.from(key), keys, columns_);
      keys_across_.take(values_, keys, columns_);
      values_.load_right(span.v.from(key), keys, columns_);
      each_score_tile(queries_, {.begin = key, .end = key + keys}, span.is_causal, Products::kDiagonalRows,
                      [&](const ScoreTile& tile) HWY_ATTR { attend_tile(tile); });
    }
  }

  void put(const QueryHead<T>& head) {
    const Tile<W> output = output_.tile();
    for (int64_t i = 0; i < count(); ++i) {
      T* const to = head.output.at(queries_.begin + i);
      const auto factor = hn::Set(Lanes<W>(), W{1} / sums_[i]);
      for_vectors<W>(0, columns_, [&](int64_t k, auto extent) HWY_ATTR {
        store(hn::Mul(load(output.at(i) + k, extent), factor), to + k, extent);
      });
      head.log_sums[queries_.begin + i] = maxima_[i] + std::log(sums_[i]);
    }
  }

 private:
  int64_t count() const { return queries_.end - queries_.begin; }

  void attend_tile(const ScoreTile& tile) {
    const int64_t first = tile.queries.begin - queries_.begin, rows = tile.rows(), keys = tile.keys;
    const Tile<W> scores = scores_.tile(), output = output_.tile().from(first);
    Products::multiply(q_.left(first), keys_across_.right(), scores,
                       {.rows = rows, .depth = columns_, .columns = keys}, Into::New);
    std::array<W, kTile> most, shrink;
    for (int64_t i = 0; i < rows; ++i) most[i] = largest(scores.at(i), tile.seen(i));
    W* const maxima = maxima_.data() + first;
    raise(maxima, most.data(), rows, shrink.data());
    W* const sums = sums_.data() + first;
    for (int64_t i = 0; i < rows; ++i) {
      scale_row(output.at(i), columns_, shrink[i]);
      sums[i] = sums[i] * shrink[i] +
                exponentials(scores.at(i), tile.seen(i), Products::room(keys), scale_, maxima[i]);
    }
    Products::multiply(scores_.left(rows, keys), values_.right(), output,
                       {.rows = rows, .depth = keys, .columns = columns_}, Into::Sum);
  }

  // To those of scores of which these are the largest. Exponentials so far shrink to so much of themselves.
  void raise(W* maxima, const W* most, int64_t rows, W* shrink) const {
    const auto scale = hn::Set(Lanes<W>(), scale_);
    for_vectors<W>(0, rows, [=](int64_t i, auto extent) HWY_ATTR {
      const auto before = load(maxima + i, extent);
      const auto raised = hn::Max(hn::Mul(scale, load(most + i, extent)), before);
      store(negative_exponential(hn::Sub(before, raised)), shrink + i, extent);
      store(raised, maxima + i, extent);
    });
  }

  typename Products::Registers registers_;
  Range queries_;
  int64_t columns_;
  W scale_;
  typename Products::Rows q_;
  typename Products::Across keys_across_;
  typename Products::Rows values_;
  typename Products::Scores scores_;
  Buffer<W> output_;
  std::vector<W> maxima_;
  std::vector<W> sums_;
};

template <typename T>
void forward_queries(Range queries, const QueryHead<T>& head, const std::vector<KeyHead<T>>& spans) {
  with_products<T>([&]<typename Products>() HWY_ATTR {
    QueriesForward<Products> each(queries, head);
    for (const KeyHead<T>& span : spans) each.attend(span);
    each.put(head);
  });
}

}  // namespace caravan::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace caravan::kernels::cpu {

AttentionResult attention_forward(const at::Tensor& qkv_TE, const AttentionHistory& history,
                                  const AttentionShape& shape) {
  const int64_t tokens = qkv_TE.size(0) / shape.sequences;
  AttentionResult result{
      .output_TA = at::empty({qkv_TE.size(0), shape.heads * shape.head_dim}, qkv_TE.options()),
      .log_sums = at::empty({shape.sequences, shape.heads, tokens},
                            qkv_TE.options().dtype(wide_type(qkv_TE.scalar_type())))};
  const int64_t shared_by = shape.heads / shape.kv_heads;
  const int64_t ranges = parts_of(tokens, kQueriesPerTask);
  for_storage_type(qkv_TE.scalar_type(), [&]<typename T>() {
    const auto of_queries = CARAVAN_CHOOSE(forward_queries<T>);
    parallel_ranges(shape.sequences * shape.heads * ranges, kElementsPerTask, [&](Range tasks) {
      for (int64_t task = tasks.begin; task < tasks.end; ++task) {
        const int64_t begin = alternating(task % ranges, ranges) * kQueriesPerTask;
        const HeadIndex head{.sequence = task / ranges / shape.heads, .head = task / ranges % shape.heads};
        of_queries({.begin = begin, .end = std::min(tokens, begin + kQueriesPerTask)},
                   query_head<T>(qkv_TE, result, shape, head),
                   key_heads<T>(qkv_TE, history, {}, shape,
                                {.sequence = head.sequence, .head = head.head / shared_by}));
      }
    });
  });
  return result;
}

}  // namespace caravan::kernels::cpu
#endif
