// Rotary position embedding in place: what rope_apply of worker/trainer/kernels/rope.h does, with its table.
#pragma once

#include "worker/trainer/cuda/launch.h"

namespace caravan::cuda {

enum class Rotation : std::int32_t { Forward, Backward };

struct Rope {
  Storage storage;
  Rotation rotation;
  std::int64_t rows;             // tokens, sequences one after the other
  std::int64_t row_size;         // elements of a row
  std::int64_t heads;            // the first ones of each row are turned
  std::int64_t head_dim;         // even
  std::int64_t sequence_length;  // of the table
  void* values;                  // [rows, row_size]
  const float* table;            // [sequence_length, head_dim]: cosines, then sines
};
CARAVAN_CUDA_API LaunchResult rope(const Rope& arguments, Stream stream);

}  // namespace caravan::cuda
