// How long a new job trains, with which sequences: a start that a user changes.
//
// Small presets train for minutes on a processor, as examples/quickstart.yaml does; published ones as long as
// the data are, in steps of about four million tokens. Pure.
#pragma once

#include <cstdint>
#include <optional>

#include "common/result.h"
#include "planner/model/shape.h"

namespace caravan::cli {

struct TrainingSizes {
  int steps = 0;
  int sequence_length = 0;
  int global_batch_sequences = 0;  // a multiple of the devices, so that each may have its own
  bool operator==(const TrainingSizes&) const = default;
};

// tokens: of the data; absent where nobody can look. An error when they are too few for a single step.
Result<TrainingSizes> choose_sizes(const planner::ModelShape& shape, std::optional<int64_t> tokens,
                                   int devices);

// Of one epoch, at least one.
int64_t steps_of_epoch(const TrainingSizes& sizes, int64_t tokens);

}  // namespace caravan::cli
