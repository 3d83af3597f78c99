// Where a training stands: what a resume needs beside tensors, in plain numbers.
#pragma once

#include <cstdint>
#include <string>

namespace caravan::checkpoint {

struct TrainingState {
  int step = 0;  // done, also those that were skipped
  int updates = 0;
  int64_t samples = 0;  // sequences seen since the start
  bool operator==(const TrainingState&) const = default;
};

// What the job was that wrote a checkpoint.
struct TrainingTerms {
  uint64_t seed = 1;
  int64_t sequence_length = 0;
  int64_t global_batch_sequences = 0;
  int steps = 0;
  bool operator==(const TrainingTerms&) const = default;
};

// Why a job with other terms cannot go on from such a checkpoint; empty when it can. Steps and batch may
// change: the order of the data follows from seed, sequence length and the data, and the state says where in
// it one is.
std::string refusal(const TrainingTerms& checkpoint, const TrainingTerms& job);

}  // namespace caravan::checkpoint
