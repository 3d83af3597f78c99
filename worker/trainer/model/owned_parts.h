// The one walk over what a rank holds of the model's tensors: for initial values, checkpoints, the gradient
// dump, and whoever else asks which bytes here are which elements of a Hugging Face tensor.
//
// A rank has a shard of each tensor (ParameterPart) and answers for a range of its flat buffers in each
// bucket (all of it, or a slice with ZeRO-1): the walk visits what lies in both. Rows that pad a shard are
// never visited. What one rank of several must do alone, such as writing a replicated norm, is up to
// `Selection`. Pure; visits in the order of the flat buffers.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "worker/trainer/model/flat_range.h"
#include "worker/trainer/model/parameters.h"

namespace caravan::trainer {

// Elements of one part that follow each other in the flat buffers.
struct OwnedPart {
  const Parameter& parameter;
  const ParameterPart& part;
  FlatRange values;         // in the flat buffers
  int64_t first_local = 0;  // of the part's local shard, row by row
};

// Elements that follow each other in the flat buffers and in the full tensor.
struct Run {
  FlatRange values;
  int64_t first_full = 0;  // of the full tensor, row by row
};

// A block of rows and columns of the full tensor; one dimension counts as a column.
struct TensorBlock {
  int64_t row = 0;
  int64_t column = 0;
  int64_t rows = 0;
  int64_t columns = 0;
  bool operator==(const TensorBlock&) const = default;
};

enum class Selection {
  Everything,  // that this rank holds
  CountsHere,  // what this rank answers for among the ranks that hold it too: each element once in the job
};

// Parameters that another rank of the tensor group (replicated ones) or of the pipeline (the second copy of
// a tied table) answers for do not count here.
bool counts_here(const Parameter& parameter, const StagePlacement& placement);

// The bucket's whole range for each.
std::vector<FlatRange> whole_buckets(const ParameterLayout& layout);

// ranges: one for each bucket.
std::vector<OwnedPart> owned_parts(const ParameterLayout& layout, const StagePlacement& placement,
                                   const std::vector<FlatRange>& ranges, Selection selection);

// Columns of a tensor; 1 where it has one dimension.
int64_t columns_of(const std::vector<int64_t>& shape);

// So that rows of the shard do not follow each other in the full tensor.
bool is_cut_by_columns(const ParameterPart& part);

// visit(Run). A shard of whole rows is one run, a shard of columns one run for each row.
template <typename Visit>
void for_each_run(const OwnedPart& owned, Visit&& visit) {
  const ParameterPart& part = owned.part;
  if (!is_cut_by_columns(part)) {
    visit(Run{owned.values, part.shard_begin * columns_of(part.full_shape) + owned.first_local});
    return;
  }
  const int64_t end = owned.first_local + owned.values.elements;
  for (int64_t row = owned.first_local / part.shard_size; row * part.shard_size < end; ++row) {
    const int64_t begins = std::max(owned.first_local, row * part.shard_size);
    const int64_t ends = std::min(end, row * part.shard_size + part.shard_real);
    if (begins >= ends) continue;
    const int64_t column = part.shard_begin + begins - row * part.shard_size;
    visit(Run{{owned.values.offset + begins - owned.first_local, ends - begins},
              row * part.full_shape[1] + column});
  }
}

// The runs as few blocks: the first row, the last row where they are cut, and the rows between.
std::vector<TensorBlock> blocks_of(const OwnedPart& owned);

}  // namespace caravan::trainer
