// The ops of one micro-batch on all stages, as cells of equal length; every further micro-batch repeats it a
// period later. Which stage comes when decides how long activations are held, and so how many at once (Qi et
// al., "Pipeline Parallelism with Controllable Memory", arXiv 2405.15362).
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "planner/schedule/schedule.h"

namespace caravan::planner {

// Once over all stages: the forward of a chunk, or its backward.
struct Pass {
  int slope = 1;  // cells from a stage to the next one
  int gap = 0;    // cells after the end of the pass before
};

struct BuildingBlock {
  std::vector<Pass> passes;  // forwards of the chunks, first to last, then backwards, last to first
  int weight_lag = 0;        // cells from a backward to the gradients of its weights
  // Where a stage holds all that it may, gradients of weights come first.
  bool weights_make_room = false;
  // Where a forward waits for room, room is kept for so many chunks of forwards that stand before it in the
  // block. One is enough for the pipeline to get on.
  int most_room_kept = std::numeric_limits<int>::max();
};

// When every op of a block has its turn, in cells.
class Cells {
 public:
  Cells(const BuildingBlock& block, const ChunkMap& map);

  int64_t at(int stage, const Op& op) const;
  int period() const { return period_; }

 private:
  void place_pass(const ChunkMap& map, const Pass& pass, int chunk, bool forward, int64_t first);

  int chunks_;
  int period_;
  int weight_lag_;
  std::vector<int64_t> forwards_;   // by stage and chunk
  std::vector<int64_t> backwards_;  // likewise
};

}  // namespace caravan::planner
