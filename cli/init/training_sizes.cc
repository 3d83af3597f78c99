#include "cli/init/training_sizes.h"

#include <fmt/format.h>

#include <algorithm>

#include "planner/work/constants.h"

namespace caravan::cli {
namespace {

using planner::round_up;

constexpr int64_t kShortestSequence = 16;
constexpr int64_t kSmallSequence = 128;
constexpr int64_t kPublishedSequence = 8192;
constexpr int64_t kSmallBatch = 8;
constexpr int64_t kPublishedStepTokens = int64_t{4} << 20;
constexpr int64_t kStepsOfAnEpoch = 20;  // at least, where the data allow it
constexpr int64_t kSmallSteps = 200;
constexpr int64_t kPublishedSteps = 20'000;  // where the data are not at hand
constexpr int64_t kMostSteps = 2'000'000'000;

// Of what consecutive samples share only the last token is needed twice.
int64_t samples_of(int64_t tokens, int64_t sequence) {
  return (tokens - 1) / sequence;
}

}  // namespace

int64_t steps_of_epoch(const TrainingSizes& sizes, int64_t tokens) {
  return std::max<int64_t>(1, samples_of(tokens, sizes.sequence_length) / sizes.global_batch_sequences);
}

Result<TrainingSizes> choose_sizes(const planner::ModelShape& shape, std::optional<int64_t> tokens,
                                   int devices) {
  const bool published = shape.positions.has_value();
  int64_t sequence = published ? std::min(*shape.positions, kPublishedSequence) : kSmallSequence;
  int64_t batch = round_up(published ? kPublishedStepTokens / sequence : kSmallBatch, devices);
  if (tokens) {
    while (sequence > kShortestSequence && samples_of(*tokens, sequence) < kStepsOfAnEpoch * devices)
      sequence /= 2;
    const int64_t samples = samples_of(*tokens, sequence);
    if (samples < devices) {
      return bad_input(
          fmt::format("{} too few for {}; a step of {} tokens for each takes {}: give more text{}",
                      *tokens == 1 ? "1 token is" : fmt::format("{} tokens are", *tokens),
                      devices == 1 ? "1 device" : fmt::format("{} devices", devices), sequence,
                      devices * sequence + 1, devices == 1 ? "" : ", or fewer --devices"));
    }
    batch = std::clamp(round_up(samples / kStepsOfAnEpoch, devices), int64_t{devices}, batch);
  }
  TrainingSizes sizes{.sequence_length = static_cast<int>(sequence),
                      .global_batch_sequences = static_cast<int>(batch)};
  const int64_t epoch = tokens ? std::min(steps_of_epoch(sizes, *tokens), kMostSteps) : kPublishedSteps;
  sizes.steps = static_cast<int>(published ? epoch : kSmallSteps);
  return sizes;
}

}  // namespace caravan::cli
