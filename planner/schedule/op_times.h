// What the ops of a schedule take, in any one unit of time.
#pragma once

#include <vector>

#include "planner/schedule/schedule.h"

namespace caravan::planner {

// Of one micro-batch.
struct PhaseTimes {
  double forward = 1;
  double backward_input = 1;
  double backward_weight = 1;

  double total() const { return forward + backward_input + backward_weight; }
  double of(OpType type) const;
};

struct OpTimes {
  std::vector<PhaseTimes> groups;   // by group of layers (chunk_map.h), of a whole sequence
  std::vector<double> segments{1};  // what part of a sequence's work each of its segments is
  double transfer = 0;              // from the end of an op to its arrival on another stage

  double of(const ChunkMap& map, int stage, const Op& op) const {
    return groups[map.group_of(stage, op.chunk)].of(op.type) * segments[op.segment];
  }
  // All ops of a stage on one micro-batch.
  double of_stage(const ChunkMap& map, int stage) const;
};

// Chunks of a stage that cost the same, and segments that cost the same. stages: one entry for each.
OpTimes even_times(const std::vector<PhaseTimes>& stages, const ChunkMap& map, int segments,
                   double transfer = 0);

}  // namespace caravan::planner
