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
#include "worker/trainer/kernels/tile_product-inl.h"
#include "worker/trainer/kernels/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace caravan::kernels::HWY_NAMESPACE {

// Of one key head and all query heads that share it.
template <typename T>
class KeysBackward {
 public:
  using W = Wide<T>;

  explicit KeysBackward(int64_t columns)
      : columns_(columns),
        keys_(kTile, columns),
        keys_across_(columns, kTile),
        values_across_(columns, kTile),
        by_keys_(kTile, columns),
        by_values_(kTile, columns),
        q_(kTile, columns),
        doutput_(kTile, columns),
        weights_(kTile, kTile),
        by_scores_(kTile, kTile) {}

  void run(const std::vector<QueryHead<T>>& heads, const KeyHead<T>& span) {
    for (int64_t key = 0; key < span.tokens; key += kTile) {
      const int64_t keys = std::min(kTile, span.tokens - key);
      widen<T>(span.v.from(key), keys, columns_, keys_.tile());
      transpose<W>(keys_.tile(), keys, columns_, values_across_.tile());
      widen<T>(span.k.from(key), keys, columns_, keys_.tile());
      transpose<W>(keys_.tile(), keys, columns_, keys_across_.tile());
      std::fill_n(by_keys_.tile().data, keys * columns_, W{0});
      std::fill_n(by_values_.tile().data, keys * columns_, W{0});
      for (const QueryHead<T>& head : heads) {
        for (int64_t query = span.is_causal ? key : 0; query < head.tokens; query += kTile)
          add_tile(head, query, keys, span.is_causal ? query - key : keys);
      }
      put(by_keys_.tile(), key, keys, span.is_causal ? span.k : Tile<T>(), span.k_sum);
      put(by_values_.tile(), key, keys, span.is_causal ? span.v : Tile<T>(), span.v_sum);
    }
  }

 private:
  void add_tile(const QueryHead<T>& head, int64_t query, int64_t keys, int64_t seen) {
    const int64_t rows = std::min(kTile, head.tokens - query);
    const Tile<W> weights = weights_.tile(), by_scores = by_scores_.tile();
    const ProductSize scores_size{.rows = rows, .depth = columns_, .columns = keys};
    const ProductSize keys_size{.rows = keys, .depth = rows, .columns = columns_};
    widen<T>(head.q.from(query), rows, columns_, q_.tile(), head.scale());
    widen<T>(head.doutput.from(query), rows, columns_, doutput_.tile());
    tile_product<W>(q_.tile(), keys_across_.tile(), weights, scores_size, Into::New);
    tile_product<W>(doutput_.tile(), values_across_.tile(), by_scores, scores_size, Into::New);
    for (int64_t i = 0; i < rows; ++i) {
      exponentials(weights.at(i), std::min(keys, seen + i + 1), keys, head.log_sums[query + i]);
      by_scores_row(weights.at(i), by_scores.at(i), keys, head.dots[query + i]);
    }
    tile_product<W>(weights.transposed(), doutput_.tile(), by_values_.tile(), keys_size, Into::Sum);
    tile_product<W>(by_scores.transposed(), q_.tile(), by_keys_.tile(), keys_size, Into::Sum);
    tile_product<W>(by_scores, keys_.tile(), head.q_sum.from(query),
                    {.rows = rows, .depth = keys, .columns = columns_}, Into::Sum);
  }

  // Gradients by weights become those by scores: w · (dw − dot).
  static void by_scores_row(const W* weights, W* gradients, int64_t keys, W dot) {
    const auto dots = hn::Set(Lanes<W>(), dot);
    for_vectors<W>(0, keys, [=](int64_t i, auto extent) HWY_ATTR {
      const auto gradient = hn::Sub(load(gradients + i, extent), dots);
      store(hn::Mul(load(weights + i, extent), gradient), gradients + i, extent);
    });
  }

  // With the sums added, if there are any; where there is no place, into them.
  void put(Tile<const W> made, int64_t key, int64_t keys, Tile<T> place, Tile<W> sums) const {
    for (int64_t row = 0; row < keys; ++row) {
      for_vectors<W>(0, columns_, [&](int64_t i, auto extent) HWY_ATTR {
        auto each = load(made.at(row) + i, extent);
        if (sums.data != nullptr) each = hn::Add(each, load(sums.at(key + row) + i, extent));
        if (place.data != nullptr) {
          store(each, place.at(key + row) + i, extent);
        } else {
          store(each, sums.at(key + row) + i, extent);
        }
      });
    }
  }

  int64_t columns_;
  Buffer<W> keys_;
  Buffer<W> keys_across_;
  Buffer<W> values_across_;
  Buffer<W> by_keys_;
  Buffer<W> by_values_;
  Buffer<W> q_;
  Buffer<W> doutput_;
  Buffer<W> weights_;
  Buffer<W> by_scores_;
};

template <typename T>
void dots_of_rows(const QueryHead<T>& head) {
  for (int64_t row = 0; row < head.tokens; ++row) {
    head.dots[row] = sum<Wide<T>>(head.columns, [&](int64_t i, auto extent) HWY_ATTR {
      return hn::Mul(load(head.doutput.at(row) + i, extent), load(head.output.at(row) + i, extent));
    });
  }
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
  for (const QueryHead<T>& head : heads) {
    dots_of_rows(head);
    std::fill_n(head.q_sum.data, head.tokens * head.columns, Wide<T>{0});
  }
  KeysBackward<T> each(heads[0].columns);
  for (const KeyHead<T>& span : spans) each.run(heads, span);
  for (const QueryHead<T>& head : heads) put_query_gradient(head);
}

}  // namespace caravan::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace caravan::kernels::cpu {

void attention_backward(at::Tensor& qkv_TE, const at::Tensor& doutput_TA, const AttentionResult& result,
                        const at::Tensor& by_later_TC, AttentionHistory& history,
                        const AttentionShape& shape) {
  const BackwardSums sums{.q = at::empty(doutput_TA.sizes(), result.log_sums.options()),
                          .dots = at::empty_like(result.log_sums)};
  const int64_t shared_by = shape.heads / shape.kv_heads;
  for_storage_type(qkv_TE.scalar_type(), [&]<typename T>() {
    const auto of_heads = CARAVAN_CHOOSE(backward_heads<T>);
    parallel_ranges(shape.sequences * shape.kv_heads, kElementsPerTask, [&](Range tasks) {
      for (int64_t task = tasks.begin; task < tasks.end; ++task) {
        const HeadIndex keys{.sequence = task / shape.kv_heads, .head = task % shape.kv_heads};
        std::vector<QueryHead<T>> heads;
        for (int64_t i = 0; i < shared_by; ++i) {
          const HeadIndex head{.sequence = keys.sequence, .head = keys.head * shared_by + i};
          heads.push_back(query_head<T>(qkv_TE, result, shape, head, doutput_TA, sums));
        }
        of_heads(heads, key_heads<T>(qkv_TE, history, by_later_TC, shape, keys));
      }
    });
  });
}

}  // namespace caravan::kernels::cpu
#endif
