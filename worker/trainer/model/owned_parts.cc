#include "worker/trainer/model/owned_parts.h"

namespace caravan::trainer {
namespace {

// Without the rows that pad it.
int64_t real_elements(const ParameterPart& part) {
  const std::vector<int64_t> local = part.local_shape();
  const int64_t rows = part.shard_dimension == 0 ? part.shard_real : local[0];
  return rows * columns_of(local);
}

int64_t all_elements(const ParameterPart& part) {
  const std::vector<int64_t> local = part.local_shape();
  return local[0] * columns_of(local);
}

}  // namespace

bool counts_here(const Parameter& parameter, const StagePlacement& placement) {
  if (parameter.replicated_over_tensor && placement.tensor_rank != 0) return false;
  return !parameter.tied_copy || placement.has_embedding();
}

std::vector<FlatRange> whole_buckets(const ParameterLayout& layout) {
  std::vector<FlatRange> ranges;
  ranges.reserve(layout.buckets.size());
  for (const Bucket& bucket : layout.buckets) ranges.push_back({bucket.offset, bucket.elements});
  return ranges;
}

std::vector<OwnedPart> owned_parts(const ParameterLayout& layout, const StagePlacement& placement,
                                   const std::vector<FlatRange>& ranges, Selection selection) {
  std::vector<OwnedPart> owned;
  for (const Parameter& parameter : layout.parameters) {
    if (selection == Selection::CountsHere && !counts_here(parameter, placement)) continue;
    int64_t offset = parameter.offset;
    for (const ParameterPart& part : parameter.parts) {
      const FlatRange values =
          intersection({offset, real_elements(part)}, ranges[static_cast<std::size_t>(parameter.bucket)]);
      if (values.elements > 0)
        owned.push_back({parameter, part, values, /*first_local=*/values.offset - offset});
      offset += all_elements(part);
    }
  }
  return owned;
}

int64_t columns_of(const std::vector<int64_t>& shape) {
  return shape.size() > 1 ? shape[1] : 1;
}

bool is_cut_by_columns(const ParameterPart& part) {
  return part.shard_dimension == 1 && part.shard_real != part.full_shape[1];
}

std::vector<TensorBlock> blocks_of(const OwnedPart& owned) {
  const ParameterPart& part = owned.part;
  const bool by_columns = part.shard_dimension == 1;
  const int64_t first_row = by_columns ? 0 : part.shard_begin;
  const int64_t first_column = by_columns ? part.shard_begin : 0;
  const int64_t width = columns_of(part.local_shape());
  const int64_t real_width = by_columns ? part.shard_real : width;

  std::vector<TensorBlock> blocks;
  int64_t begin = owned.first_local;
  const int64_t end = begin + owned.values.elements;
  while (begin < end) {
    const int64_t row = begin / width;
    const int64_t column = begin % width;
    const bool cut = column != 0 || end - begin < width;
    const int64_t rows = cut ? 1 : (end - begin) / width;
    const int64_t columns = cut ? std::min(width - column, end - begin) : width;
    const int64_t real_columns = std::min(column + columns, real_width) - column;
    if (real_columns > 0) blocks.push_back({first_row + row, first_column + column, rows, real_columns});
    begin += rows * columns;
  }
  return blocks;
}

}  // namespace caravan::trainer
