// Arranges ops for times that they really take: plays the pipeline, and a stage that is free takes, of the
// ops that are ready, the one whose cell in the building block comes first.
//
// A stage never holds more chunks than it may. A forward leaves room for forwards of other chunks before it
// in the block, so no stage fills up with micro-batches whose other half has to pass it first. Assumes a
// block with as many passes as twice the chunks, times above 0, and one segment.
#pragma once

#include <optional>

#include "planner/schedule/building_block.h"
#include "planner/schedule/op_times.h"

namespace caravan::planner {

struct Arrangement {
  Schedule schedule;
  double makespan = 0;
};

// Absent where stages come to wait for each other, because that many chunks do not suffice for the block.
std::optional<Arrangement> arrange(const ChunkMap& map, int micro_batches, const OpTimes& times,
                                   const BuildingBlock& block, int most_chunks_held);

}  // namespace caravan::planner
