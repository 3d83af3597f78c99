// What ranks on GPUs take of their node's own memory, beside that of their devices.
#pragma once

#include <cstdint>

#include "caravan/v1alpha1/plan.pb.h"

namespace caravan::planner {

// Libraries, the contexts of driver and collectives, staging buffers.
inline constexpr int64_t kHostBytesOfARank = int64_t{4} << 30;

// While a checkpoint is written, where the job has some.
inline int64_t host_bytes(const v1alpha1::Plan& plan, int ranks) {
  return ranks * kHostBytesOfARank + plan.host_snapshot_bytes();
}

}  // namespace caravan::planner
