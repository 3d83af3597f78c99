#include "worker/trainer/optim/ownership.h"

#include "worker/trainer/kernels/random_normal.h"
#include "worker/trainer/model/owned_parts.h"

namespace caravan::trainer {
namespace {

FlatRange range_of(const Parameter& parameter) {
  return {parameter.offset, parameter.elements};
}

bool continues(const UpdateRange& before, const UpdateRange& next) {
  return before.values.offset + before.values.elements == next.values.offset &&
         before.state_offset + before.values.elements == next.state_offset &&
         before.weight_decay == next.weight_decay;
}

kernels::ElementNumbers numbers_of(const OwnedPart& owned) {
  const ParameterPart& part = owned.part;
  const int64_t columns = columns_of(part.full_shape);
  if (!is_cut_by_columns(part)) return {.first = owned.first_local, .begin = part.shard_begin * columns};
  return {.first = owned.first_local,
          .part_columns = part.shard_size,
          .columns = columns,
          .begin = part.shard_begin};
}

}  // namespace

FlatRange slice_of(const Bucket& bucket, DataShard shard) {
  const int64_t elements = bucket.elements / shard.size;
  return {bucket.offset + shard.rank * elements, elements};
}

std::vector<FlatRange> slices_of(const ParameterLayout& layout, DataShard shard) {
  std::vector<FlatRange> slices;
  slices.reserve(layout.buckets.size());
  for (const Bucket& bucket : layout.buckets) slices.push_back(slice_of(bucket, shard));
  return slices;
}

// The slices of all buckets lie one after the other, and so do the buckets themselves.
int64_t state_offset_of(const Bucket& bucket, DataShard shard, int64_t flat_offset) {
  return bucket.offset / shard.size + flat_offset - slice_of(bucket, shard).offset;
}

Updates ranges_to_update(const ParameterLayout& layout, DataShard shard) {
  Updates updates;
  for (std::size_t b = 0; b < layout.buckets.size(); ++b) {
    const FlatRange slice = slice_of(layout.buckets[b], shard);
    for (const Parameter& parameter : layout.parameters) {
      if (parameter.bucket != static_cast<int>(b)) continue;
      const FlatRange part = intersection(range_of(parameter), slice);
      if (part.elements == 0) continue;
      const UpdateRange next{.values = part,
                             .state_offset = state_offset_of(layout.buckets[b], shard, part.offset),
                             .weight_decay = parameter.weight_decay};
      if (!updates.ranges.empty() && continues(updates.ranges.back(), next)) {
        updates.ranges.back().values.elements += part.elements;
      } else {
        updates.ranges.push_back(next);
      }
    }
    updates.state_elements += slice.elements;
  }
  return updates;
}

Updates ranges_by_tensor(const ParameterLayout& layout, DataShard shard, uint64_t seed) {
  Updates updates;
  for (const OwnedPart& owned :
       owned_parts(layout, StagePlacement(), slices_of(layout, shard), Selection::Everything)) {
    const Bucket& bucket = layout.buckets[static_cast<std::size_t>(owned.parameter.bucket)];
    updates.ranges.push_back({.values = owned.values,
                              .state_offset = state_offset_of(bucket, shard, owned.values.offset),
                              .weight_decay = owned.parameter.weight_decay,
                              .rounding_key = kernels::random_key(seed, owned.part.name),
                              .numbers = numbers_of(owned)});
  }
  for (const FlatRange& slice : slices_of(layout, shard)) updates.state_elements += slice.elements;
  return updates;
}

std::vector<FlatRange> ranges_in_norm(const ParameterLayout& layout, DataShard shard,
                                      const StagePlacement& placement) {
  std::vector<FlatRange> ranges;
  for (const Parameter& parameter : layout.parameters) {
    if (!counts_here(parameter, placement)) continue;
    const FlatRange slice = slice_of(layout.buckets[static_cast<std::size_t>(parameter.bucket)], shard);
    const FlatRange part = intersection(range_of(parameter), slice);
    if (part.elements > 0) ranges.push_back(part);
  }
  return ranges;
}

}  // namespace caravan::trainer
