// Which elements of the flat buffers this rank answers for.
//
// Every bucket is cut in as many equal slices as there are data parallel ranks. A rank measures the gradients
// of its slice (so that each counts once), and updates its slice (ZeRO-1) or everything (ZeRO-0).
#pragma once

#include <cstdint>
#include <vector>

#include "worker/trainer/model/parameters.h"

namespace caravan::trainer {

struct DataShard {
  int rank = 0;
  int size = 1;
};

// Elements [offset, offset + elements) of the flat buffers.
struct FlatRange {
  int64_t offset = 0;
  int64_t elements = 0;
  bool operator==(const FlatRange&) const = default;
};

FlatRange slice_of(const Bucket& bucket, DataShard shard);

// A run of elements with the same treatment, and where its optimizer state lies in the rank's state buffers.
struct UpdateRange {
  FlatRange values;
  int64_t state_offset = 0;
  bool weight_decay = true;
  bool operator==(const UpdateRange&) const = default;
};

struct Updates {
  std::vector<UpdateRange> ranges;
  int64_t state_elements = 0;
};

// shard: {0, 1} updates everything.
Updates ranges_to_update(const ParameterLayout& layout, DataShard shard);

// What this rank contributes to the global gradient norm: its slices, without parameters that another rank of
// the tensor group (replicated ones) or of the pipeline (the second copy of tied embeddings) answers for.
std::vector<FlatRange> ranges_in_norm(const ParameterLayout& layout, DataShard shard,
                                      const StagePlacement& placement);

}  // namespace caravan::trainer
