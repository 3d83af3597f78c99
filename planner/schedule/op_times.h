// What the ops of a schedule take, in any one unit of time.
#pragma once

#include <vector>

#include "planner/schedule/schedule.h"

namespace caravan::planner {

struct OpTimes {
  std::vector<PhaseTimes> groups;  // by group of layers (chunk_map.h), and of each by segment of a sequence
  int segments = 1;
  double transfer = 0;  // from the end of an op to its arrival on another stage

  const PhaseTimes& at(int group, int segment) const { return groups[group * segments + segment]; }
  double of(const ChunkMap& map, int stage, const Op& op) const {
    return at(map.group_of(stage, op.chunk), op.segment).of(op.type);
  }
  // All ops of a stage on one micro-batch.
  PhaseTimes of_stage(const ChunkMap& map, int stage) const;
};

// Chunks of a stage that cost the same, and segments that cost the same. stages: one entry for each.
OpTimes even_times(const std::vector<PhaseTimes>& stages, const ChunkMap& map, int segments,
                   double transfer = 0);

}  // namespace caravan::planner
