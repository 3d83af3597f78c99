// Which elements of the flat buffers this rank answers for.
//
// Every bucket is cut in as many equal slices as there are data parallel ranks. A rank measures the gradients
// of its slice (so that each counts once), and updates its slice (ZeRO-1) or everything (ZeRO-0).
#pragma once

#include <cstdint>
#include <vector>

#include "worker/trainer/kernels/element_numbers.h"
#include "worker/trainer/model/flat_range.h"
#include "worker/trainer/model/parameters.h"

namespace caravan::trainer {

struct DataShard {
  int rank = 0;
  int size = 1;
};

FlatRange slice_of(const Bucket& bucket, DataShard shard);
// Of each bucket.
std::vector<FlatRange> slices_of(const ParameterLayout& layout, DataShard shard);

// Where the state of an element of a bucket's slice lies in the state buffers of a rank that updates that
// shard.
int64_t state_offset_of(const Bucket& bucket, DataShard shard, int64_t flat_offset);

// A run of elements with the same treatment, and where its optimizer state lies in the rank's state buffers.
struct UpdateRange {
  FlatRange values;
  int64_t state_offset = 0;
  bool weight_decay = true;
  // Of ranges by tensor.
  uint64_t rounding_key = 0;
  kernels::ElementNumbers numbers = {};
  bool operator==(const UpdateRange&) const = default;
};

struct Updates {
  std::vector<UpdateRange> ranges;
  int64_t state_elements = 0;
};

// shard: {0, 1} updates everything.
Updates ranges_to_update(const ParameterLayout& layout, DataShard shard);
// The same with a range for each tensor of the model, which says what its elements are in it.
Updates ranges_by_tensor(const ParameterLayout& layout, DataShard shard, uint64_t seed);

// What this rank contributes to the global gradient norm: its slices, without parameters that another rank of
// the tensor group (replicated ones) or of the pipeline (the second copy of tied embeddings) answers for.
std::vector<FlatRange> ranges_in_norm(const ParameterLayout& layout, DataShard shard,
                                      const StagePlacement& placement);

}  // namespace caravan::trainer
