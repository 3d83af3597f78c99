#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>

#include <algorithm>
#include <vector>

#include "worker/trainer/kernels/attention_heads.h"
#include "worker/trainer/kernels/cpu_kernels.h"
#include "worker/trainer/kernels/instruction_set.h"
#include "worker/trainer/kernels/parallel_ranges.h"
#include "worker/trainer/kernels/storage_type.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "worker/trainer/kernels/attention_backward.cc"
#include "worker/trainer/kernels/each_instruction_set.h"
#include "worker/trainer/kernels/exponential-inl.h"
#include "worker/trainer/kernels/tile_factors-inl.h"
#include "worker/trainer/kernels/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace caravan::kernels::HWY_NAMESPACE {

// Whose gradients a pass over tiles of scores makes. Both in one pass is the least work; in two, one thread
// can have the keys from one on and another the queries from one on.
enum class Gradients { Both, ByKeys, ByQueries };

// The room in which one thread goes through tiles of scores.
template <typename Products>
class TilesBackward {
 public:
  using T = typename Products::Element;
  using W = typename Products::W;

  explicit TilesBackward(int64_t columns)
      : columns_(columns),
        keys_(kTile, columns),
        keys_across_(kTile, columns),
        values_across_(kTile, columns),
        q_(kTile, columns),
        doutput_(kTile, columns),
        by_keys_(kTile, Products::room(columns)),
        by_values_(kTile, Products::room(columns)) {}

  // The tile of keys from one on, and the queries of all heads that share it.
  void run_keys(const std::vector<QueryHead<T>>& heads, const KeyHead<T>& span, int64_t key,
                Gradients gradients) {
    const Range keys = load_keys(span, key);
    for (const Tile<W>& sums : {by_keys_.tile(), by_values_.tile()})
      std::fill(sums.data, sums.at(kTile), W{0});
    for (const QueryHead<T>& head : heads)
      add_tiles({.begin = 0, .end = head.tokens}, head, keys, span.is_causal, gradients);
    put(by_keys_.tile(), heads[0].scale(), keys, span.is_causal ? span.k : Tile<T>(), span.k_sum);
    put(by_values_.tile(), 1, keys, span.is_causal ? span.v : Tile<T>(), span.v_sum);
  }

  // Adds to the gradients by some queries, tile by tile in the order in which run_keys does.
  void run_queries(Range queries, const QueryHead<T>& head, const KeyHead<T>& span) {
    const int64_t end = span.is_causal ? queries.end : span.tokens;
    for (int64_t key = 0; key < end; key += kTile) {
      add_tiles(queries, head, load_keys(span, key), span.is_causal, Gradients::ByQueries);
    }
  }

 private:
  // A tile of them, from one on.
  Range load_keys(const KeyHead<T>& span, int64_t key) {
    const int64_t keys = std::min(kTile, span.tokens - key);
    keys_.load_left(span.v.from(key), keys, columns_);
    values_across_.take(keys_, keys, columns_);
    keys_.load(span.k.from(key), keys, columns_);
    keys_across_.take(keys_, keys, columns_);
    return {.begin = key, .end = key + keys};
  }

  // Of the keys that are loaded.
  void add_tiles(Range queries, const QueryHead<T>& head, Range keys, bool is_causal, Gradients gradients) {
    each_score_tile(queries, keys, is_causal, Products::kDiagonalRows,
                    [&](const ScoreTile& tile) HWY_ATTR { add_tile(head, tile, gradients); });
  }

  void add_tile(const QueryHead<T>& head, const ScoreTile& tile, Gradients gradients) {
    const int64_t query = tile.queries.begin, rows = tile.rows(), keys = tile.keys;
    const W scale = head.scale();
    const Tile<W> weights = weights_.tile(), by_scores = by_scores_.tile();
    const ProductSize scores_size{.rows = rows, .depth = columns_, .columns = keys};
    const ProductSize keys_size{.rows = keys, .depth = rows, .columns = columns_};
    q_.load(head.q.from(query), rows, columns_);
    doutput_.load(head.doutput.from(query), rows, columns_);
    Products::multiply(q_.left(), keys_across_.right(), weights, scores_size, Into::New);
    Products::multiply(doutput_.left(), values_across_.right(), by_scores, scores_size, Into::New);
    for (int64_t i = 0; i < rows; ++i) {
      by_scores_row(weights.at(i), by_scores.at(i), tile.seen(i), Products::room(keys),
                    {.scale = scale, .log_sum = head.log_sums[query + i], .dot = head.dots[query + i]});
    }
    if (gradients != Gradients::ByQueries) {
      Products::multiply(weights_.left_across(rows, keys), doutput_.right(), by_values_.tile(), keys_size,
                         Into::Sum);
      Products::multiply(by_scores_.left_across(rows, keys), q_.right(), by_keys_.tile(), keys_size,
                         Into::Sum);
    }
    if (gradients == Gradients::ByKeys) return;
    Products::add_product(by_scores_.left(rows, keys), keys_.right(), head.q_sum.from(query),
                          {.rows = rows, .depth = keys, .columns = columns_});
  }

  struct QueryScalars {
    W scale, log_sum, dot;
  };

  // Scores become weights, and gradients by weights those by scores: w · (dw − dot). Both are zero for keys
  // that are not seen.
  static void by_scores_row(W* weights, W* gradients, int64_t seen, int64_t keys, QueryScalars query) {
    const Lanes<W> d;
    const auto scale = hn::Set(d, query.scale), shift = hn::Set(d, query.log_sum),
               dot = hn::Set(d, query.dot);
    for_vectors<W>(0, seen, [=](int64_t i, auto extent) HWY_ATTR {
      const auto weight = negative_exponential(hn::MulSub(load(weights + i, extent), scale, shift));
      store(weight, weights + i, extent);
      store(hn::Mul(weight, hn::Sub(load(gradients + i, extent), dot)), gradients + i, extent);
    });
    std::fill(weights + seen, weights + keys, W{0});
    std::fill(gradients + seen, gradients + keys, W{0});
  }

  // factor · made, with the sums added, if there are any; where there is no place, into them.
  void put(Tile<const W> made, W factor, Range keys, Tile<T> place, Tile<W> sums) const {
    const auto factors = hn::Set(Lanes<W>(), factor);
    for (int64_t key = keys.begin; key < keys.end; ++key) {
      for_vectors<W>(0, columns_, [&](int64_t i, auto extent) HWY_ATTR {
        auto each = hn::Mul(load(made.at(key - keys.begin) + i, extent), factors);
        if (sums.data != nullptr) each = hn::Add(each, load(sums.at(key) + i, extent));
        if (place.data != nullptr) {
          store(each, place.at(key) + i, extent);
        } else {
          store(each, sums.at(key) + i, extent);
        }
      });
    }
  }

  typename Products::Registers registers_;
  int64_t columns_;
  typename Products::Rows keys_;
  typename Products::Across keys_across_;
  typename Products::Across values_across_;
  typename Products::Rows q_;
  typename Products::Rows doutput_;
  typename Products::Scores weights_;
  typename Products::Scores by_scores_;
  Buffer<W> by_keys_;
  Buffer<W> by_values_;
};

// What is known of a query before its scores are.
template <typename T>
void begin_queries(const QueryHead<T>& head) {
  for (int64_t row = 0; row < head.tokens; ++row) {
    head.dots[row] = sum<Wide<T>>(head.columns, [&](int64_t i, auto extent) HWY_ATTR {
      return hn::Mul(load(head.doutput.at(row) + i, extent), load(head.output.at(row) + i, extent));
    });
  }
  std::fill_n(head.q_sum.data, head.tokens * head.columns, Wide<T>{0});
}

template <typename T>
void put_query_gradient(const QueryHead<T>& head) {
  const auto scale = hn::Set(Lanes<Wide<T>>(), head.scale());
  for (int64_t row = 0; row < head.tokens; ++row) {
    for_vectors<Wide<T>>(0, head.columns, [&](int64_t i, auto extent) HWY_ATTR {
      store(hn::Mul(load(head.q_sum.at(row) + i, extent), scale), head.q.at(row) + i, extent);
    });
  }
}

// heads: those that share the keys.
template <typename T>
void backward_heads(const std::vector<QueryHead<T>>& heads, const std::vector<KeyHead<T>>& spans) {
  with_products<T>([&]<typename Products>() HWY_ATTR {
    TilesBackward<Products> tiles(heads[0].columns);
    for (const KeyHead<T>& span : spans) {
      for (int64_t key = 0; key < span.tokens; key += kTile)
        tiles.run_keys(heads, span, key, Gradients::Both);
    }
  });
}

template <typename T>
void backward_keys(const std::vector<QueryHead<T>>& heads, const KeyHead<T>& span, int64_t key) {
  with_products<T>([&]<typename Products>() HWY_ATTR {
    TilesBackward<Products>(heads[0].columns).run_keys(heads, span, key, Gradients::ByKeys);
  });
}

template <typename T>
void backward_queries(Range queries, const QueryHead<T>& head, const std::vector<KeyHead<T>>& spans) {
  with_products<T>([&]<typename Products>() HWY_ATTR {
    TilesBackward<Products> tiles(head.columns);
    for (const KeyHead<T>& span : spans) tiles.run_queries(queries, head, span);
  });
}

}  // namespace caravan::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace caravan::kernels::cpu {
namespace {

// Products of tiles that one pass makes, and two.
constexpr int64_t kProductsOfOne = 5, kProductsOfTwo = 7;

// The heads and their keys, as the passes of a backward find them.
template <typename T>
class Backward {
 public:
  Backward(at::Tensor& qkv_TE, const at::Tensor& doutput_TA, const AttentionResult& result,
           const at::Tensor& by_later_TC, AttentionHistory& history, const AttentionShape& shape)
      : qkv_TE_(qkv_TE),
        doutput_TA_(doutput_TA),
        result_(result),
        by_later_TC_(by_later_TC),
        history_(history),
        shape_(shape),
        sums_{.q = at::empty(doutput_TA.sizes(), result.log_sums.options()),
              .dots = at::empty_like(result.log_sums)} {}

  void run() const {
    const int64_t tasks = shape_.sequences * shape_.kv_heads, threads = at::get_num_threads();
    const int64_t rounds = (tasks + threads - 1) / threads;
    each_query_head(CARAVAN_CHOOSE(begin_queries<T>));
    if (kProductsOfOne * rounds * threads > kProductsOfTwo * tasks) {
      two_passes();
    } else {
      one_pass();
    }
    each_query_head(CARAVAN_CHOOSE(put_query_gradient<T>));
  }

 private:
  void one_pass() const {
    const auto of_heads = CARAVAN_CHOOSE(backward_heads<T>);
    each_task(shape_.kv_heads, 1, [&](HeadIndex keys, int64_t) { of_heads(sharers(keys), spans(keys)); });
  }

  // Keys and values are overwritten by the second.
  void two_passes() const {
    const auto of_queries = CARAVAN_CHOOSE(backward_queries<T>);
    const int64_t tokens = qkv_TE_.size(0) / shape_.sequences;
    each_task(shape_.heads, parts_of(tokens, kQueriesPerTask), [&](HeadIndex head, int64_t part) {
      const int64_t begin = part * kQueriesPerTask;
      of_queries({.begin = begin, .end = std::min(tokens, begin + kQueriesPerTask)}, query(head),
                 spans({.sequence = head.sequence, .head = head.head / shared_by()}));
    });
    const auto of_keys = CARAVAN_CHOOSE(backward_keys<T>);
    const std::size_t spans_of_each = history_.kv_TC.size() + 1;
    for (std::size_t span = 0; span < spans_of_each; ++span) {
      const int64_t keys_of_span = spans({})[span].tokens;
      each_task(shape_.kv_heads, parts_of(keys_of_span, kTile), [&](HeadIndex keys, int64_t part) {
        of_keys(sharers(keys), spans(keys)[span], part * kTile);
      });
    }
  }

  // body(HeadIndex, part): parts of a head that neighbours share have more to do the later, or the earlier,
  // they are.
  template <typename Body>
  void each_task(int64_t heads, int64_t parts, const Body& body) const {
    parallel_ranges(shape_.sequences * heads * parts, kElementsPerTask, [&](Range tasks) {
      for (int64_t task = tasks.begin; task < tasks.end; ++task)
        body(HeadIndex{.sequence = task / parts / heads, .head = task / parts % heads},
             alternating(task % parts, parts));
    });
  }

  void each_query_head(void (*body)(const QueryHead<T>&)) const {
    each_task(shape_.heads, 1, [&](HeadIndex head, int64_t) { body(query(head)); });
  }

  int64_t shared_by() const { return shape_.heads / shape_.kv_heads; }

  QueryHead<T> query(HeadIndex head) const {
    return query_head<T>(qkv_TE_, result_, shape_, head, doutput_TA_, sums_);
  }

  std::vector<QueryHead<T>> sharers(HeadIndex keys) const {
    std::vector<QueryHead<T>> heads;
    for (int64_t i = 0; i < shared_by(); ++i)
      heads.push_back(query({.sequence = keys.sequence, .head = keys.head * shared_by() + i}));
    return heads;
  }

  std::vector<KeyHead<T>> spans(HeadIndex keys) const {
    return key_heads<T>(qkv_TE_, history_, by_later_TC_, shape_, keys);
  }

  at::Tensor& qkv_TE_;
  const at::Tensor& doutput_TA_;
  const AttentionResult& result_;
  const at::Tensor& by_later_TC_;
  AttentionHistory& history_;
  const AttentionShape& shape_;
  const BackwardSums sums_;
};

}  // namespace

void attention_backward(at::Tensor& qkv_TE, const at::Tensor& doutput_TA, const AttentionResult& result,
                        const at::Tensor& by_later_TC, AttentionHistory& history,
                        const AttentionShape& shape) {
  for_storage_type(qkv_TE.scalar_type(), [&]<typename T>() {
    Backward<T>(qkv_TE, doutput_TA, result, by_later_TC, history, shape).run();
  });
}

}  // namespace caravan::kernels::cpu
#endif
