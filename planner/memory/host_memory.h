// What ranks on GPUs take of their node's own memory, beside that of their devices.
#pragma once

#include <algorithm>
#include <cstdint>

#include "caravan/v1alpha1/job.pb.h"
#include "caravan/v1alpha1/plan.pb.h"

namespace caravan::planner {

// Libraries, the contexts of driver and collectives, staging buffers.
inline constexpr int64_t kHostBytesOfARank = int64_t{4} << 30;

// Of a step, inputs and targets, at most, in whole MiB: a rank has those of its replica's sequences.
inline int64_t token_id_bytes(const v1alpha1::Training& training, const v1alpha1::Plan& plan) {
  const int64_t sequences = training.global_batch_sequences() / std::max(1, plan.data());
  const int64_t bytes = 2 * sequences * training.sequence_length() * static_cast<int64_t>(sizeof(int64_t));
  constexpr int64_t kMebibyte = int64_t{1} << 20;
  return (bytes + kMebibyte - 1) / kMebibyte * kMebibyte;
}

// While a checkpoint is written, where the job has some.
inline int64_t host_bytes(const v1alpha1::Plan& plan, int ranks, const v1alpha1::Training& training) {
  return ranks * (kHostBytesOfARank + token_id_bytes(training, plan)) + plan.host_snapshot_bytes();
}

}  // namespace caravan::planner
