// How many elements of parameters and of optimizer states one rank of a stage holds, as the trainer lays them
// out (worker/trainer/model/parameters.h): layers and head cut by tensor parallelism, norms whole, the
// vocabulary padded to a multiple of the tensor size, every parameter padded to a cache line and every bucket
// to a multiple of the data parallel size.
#pragma once

#include <cstdint>

#include "planner/model/shape.h"
#include "planner/placement.h"

namespace caravan::planner {

struct StageElements {
  int64_t values = 0;         // of the flat buffers of values and gradients
  int64_t states = 0;         // of each optimizer state
  int64_t largest_slice = 0;  // of a bucket, by data parallel rank
};

StageElements stage_elements(const ModelShape& shape, const Layout& layout, const Placement& placement,
                             int stage);

}  // namespace caravan::planner
