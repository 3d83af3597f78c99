#include "checkpoint/format/training_state.h"

#include <fmt/format.h>

namespace caravan::checkpoint {

std::string refusal(const TrainingTerms& checkpoint, const TrainingTerms& job) {
  if (checkpoint.seed != job.seed) {
    return fmt::format(
        "training.seed is {} in the checkpoint and {} in the job, which would shuffle the data in another "
        "way: set it back",
        checkpoint.seed, job.seed);
  }
  if (checkpoint.sequence_length != job.sequence_length) {
    return fmt::format(
        "training.sequenceLength is {} in the checkpoint and {} in the job, which would cut the data in "
        "another way: set it back",
        checkpoint.sequence_length, job.sequence_length);
  }
  return {};
}

}  // namespace caravan::checkpoint
