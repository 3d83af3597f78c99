// Where the numbers of one head of one sequence stand, as attention's forward and backward go through them.
// For .cc files.
//
// W: the type of sums of storage type T.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "worker/trainer/kernels/attention.h"
#include "worker/trainer/kernels/parallel_ranges.h"
#include "worker/trainer/kernels/storage_type.h"
#include "worker/trainer/kernels/tile.h"

namespace caravan::kernels {

// Scores of so many queries by so many keys exist at a time.
inline constexpr int64_t kTile = 64;
// Queries that share tiles of keys, which are widened and transposed once for them.
inline constexpr int64_t kQueriesPerTask = 4 * kTile;

inline int64_t parts_of(int64_t tokens, int64_t of_a_part) {
  return (tokens + of_a_part - 1) / of_a_part;
}

// An order of a causal head's parts in which every stretch has about its share of the work: the first, the
// last, the second, ...
inline int64_t alternating(int64_t i, int64_t parts) {
  return i % 2 == 0 ? i / 2 : parts - 1 - i / 2;
}

// Scores of neighbouring queries by the first of a tile's keys: as many as the last of the queries sees.
struct ScoreTile {
  Range queries;
  int64_t keys = 0;
  int64_t before = 0;  // the i-th query sees keys up to before + i

  int64_t rows() const { return queries.end - queries.begin; }
  int64_t seen(int64_t i) const { return std::min(keys, before + i + 1); }
};

// body(ScoreTile) for those of the queries that see any of the keys. On the diagonal of a causal head a tile
// has diagonal_rows, so that little of it is not seen.
template <typename Body>
void each_score_tile(Range queries, Range keys, bool is_causal, int64_t diagonal_rows, const Body& body) {
  const int64_t count = keys.end - keys.begin;
  int64_t query = is_causal ? std::max(keys.begin, queries.begin) : queries.begin;
  while (query < queries.end) {
    const int64_t before = is_causal ? query - keys.begin : count;
    const int64_t end = std::min(queries.end, query + (before < count ? diagonal_rows : kTile));
    body(ScoreTile{.queries = {.begin = query, .end = end},
                   .keys = std::min(count, before + end - query),
                   .before = before});
    query = end;
  }
}

struct HeadIndex {
  int64_t sequence = 0;
  int64_t head = 0;
};

// A row is a token.
template <typename T>
struct QueryHead {
  int64_t tokens = 0;
  int64_t columns = 0;
  Tile<T> q;
  Tile<T> output;
  Wide<T>* log_sums = nullptr;

  // In the backward: what came, Σ over columns of it times the output, and the sum of the queries' gradient.
  Tile<const T> doutput = {};
  Wide<T>* dots = nullptr;
  Tile<Wide<T>> q_sum = {};

  Wide<T> scale() const { return Wide<T>{1} / std::sqrt(static_cast<Wide<T>>(columns)); }
};

// Of the segment at work, or of one before it.
template <typename T>
struct KeyHead {
  int64_t tokens = 0;
  bool is_causal = false;  // a query sees the keys up to its own; else all
  Tile<T> k;
  Tile<T> v;
  // In the backward: what others have added up. Those of the segment at work go, with it, into the place of
  // its keys and values; those of segments before stay sums.
  Tile<Wide<T>> k_sum = {};
  Tile<Wide<T>> v_sum = {};
};

// What a backward adds up in.
struct BackwardSums {
  at::Tensor q;     // by query head: tokens × head_dim
  at::Tensor dots;  // as AttentionResult's log_sums
};

template <typename T>
Tile<T> head_rows(const at::Tensor& rows, const AttentionShape& shape, HeadIndex index) {
  const int64_t first = rows.size(0) / shape.sequences * index.sequence;
  T* const data = rows.mutable_data_ptr<T>() + first * rows.stride(0) + index.head * shape.head_dim;
  return {.data = data, .row = rows.stride(0)};
}

template <typename T>
QueryHead<T> query_head(const at::Tensor& qkv_TE, const AttentionResult& result, const AttentionShape& shape,
                        HeadIndex index) {
  const int64_t tokens = qkv_TE.size(0) / shape.sequences;
  return {.tokens = tokens,
          .columns = shape.head_dim,
          .q = head_rows<T>(qkv_TE, shape, index),
          .output = head_rows<T>(result.output_TA, shape, index),
          .log_sums = result.log_sums.mutable_data_ptr<Wide<T>>() +
                      (index.sequence * shape.heads + index.head) * tokens};
}

template <typename T>
QueryHead<T> query_head(const at::Tensor& qkv_TE, const AttentionResult& result, const AttentionShape& shape,
                        HeadIndex index, const at::Tensor& doutput_TA, const BackwardSums& sums) {
  QueryHead<T> head = query_head<T>(qkv_TE, result, shape, index);
  const int64_t rows_before = (index.sequence * shape.heads + index.head) * head.tokens;
  head.doutput = head_rows<T>(doutput_TA, shape, index);
  head.dots = sums.dots.mutable_data_ptr<Wide<T>>() + rows_before;
  head.q_sum = {.data = sums.q.mutable_data_ptr<Wide<T>>() + rows_before * shape.head_dim,
                .row = shape.head_dim};
  return head;
}

// kv_TC: keys of all heads, then their values; sum_TC: of gradients by them, or undefined.
template <typename T>
KeyHead<T> key_head(const at::Tensor& kv_TC, const at::Tensor& sum_TC, const AttentionShape& shape,
                    HeadIndex index) {
  const HeadIndex values{.sequence = index.sequence, .head = shape.kv_heads + index.head};
  KeyHead<T> head{.tokens = kv_TC.size(0) / shape.sequences,
                  .k = head_rows<T>(kv_TC, shape, index),
                  .v = head_rows<T>(kv_TC, shape, values)};
  if (sum_TC.defined()) {
    head.k_sum = head_rows<Wide<T>>(sum_TC, shape, index);
    head.v_sum = head_rows<Wide<T>>(sum_TC, shape, values);
  }
  return head;
}

// Of the segments before, first one first, then of the one at work.
template <typename T>
std::vector<KeyHead<T>> key_heads(const at::Tensor& qkv_TE, const AttentionHistory& history,
                                  const at::Tensor& by_later_TC, const AttentionShape& shape,
                                  HeadIndex index) {
  std::vector<KeyHead<T>> heads;
  for (std::size_t i = 0; i < history.kv_TC.size(); ++i) {
    const bool has_sums = i < history.kv_gradients_TC.size();
    heads.push_back(
        key_head<T>(history.kv_TC[i], has_sums ? history.kv_gradients_TC[i] : at::Tensor(), shape, index));
  }
  heads.push_back(key_head<T>(keys_and_values(qkv_TE, shape), by_later_TC, shape, index));
  heads.back().is_causal = true;
  return heads;
}

}  // namespace caravan::kernels
