// Memory of a stage by its rows: what a micro-batch leaves for its backward, and the peaks of forward and
// backward above what was alive before.
//
// Bytes are those asked of the CPU allocator, without alignment. Parameters, gradients and optimizer states
// are not in here, nor what the pipeline around a stage holds (token batches, buffers of its sends and
// receives). Pure.
#pragma once

#include <array>
#include <span>

#include "planner/work/operation.h"
#include "planner/work/stage_shape.h"

namespace caravan::planner {

// Relative to the start: the moment at which most is alive, and the end.
struct Footprint {
  MemoryUse peak;
  MemoryUse after;
};

Footprint footprint_of(std::span<const Operation> rows);
// One after the other; the same so many times over.
Footprint then(const Footprint& first, const Footprint& next);
Footprint repeated(const Footprint& each, int64_t times);

// What is handed in (input activations, output gradient) is alive at the start of a phase and belongs to the
// stage from then on.
struct StageFootprint {
  Footprint forward;   // after: the kept rows and the output, less the input
  Footprint backward;  // after: the input gradient, less kept rows and output gradient
  // In two parts; what the second needs stays from the one to the other. Not known of other engines.
  Footprint backward_input = {};
  Footprint backward_weight = {};
  Footprint evaluate;
  int64_t kept = 0;     // by one micro-batch between its forward and its backward, the stage's input included
  int64_t waiting = 0;  // between the parts of a backward in two
  // Gradients by keys and values, of segments: what the backward of the last one makes for those before, and
  // what each of those gives back.
  int64_t lent = 0;
  int64_t borrowed = 0;
  int64_t boundary = 0;   // one tensor of activations, or of their gradients, between stages
  int64_t constants = 0;  // as long as the stage lives: the rotary table
};

// Of one layer that runs in part again.
struct AgainFootprint {
  int64_t copied = 0;  // keys and values for the segments behind, by its forward, when it has made its output
  int64_t dropped = 0;  // after that
  Footprint remade;     // what was dropped, before the backward; the copy goes before
};

// Of one layer, and of the model's ends: the same for every number of layers.
struct BlockFootprints {
  Footprint forward;
  Footprint backward;
  Footprint backward_input;
  Footprint backward_weight;
  std::array<AgainFootprint, 2> again;  // by RecomputedPart
  Footprint embedding_forward;
  Footprint embedding_backward;
  Footprint head_forward;
  Footprint head_evaluate;
  int64_t inner = 0;  // what a layer's forward leaves besides its input and output
  int64_t lent = 0;   // see StageFootprint
  int64_t borrowed = 0;
};

BlockFootprints block_footprints(const StageShape& stage);

StageFootprint stage_footprint(const BlockFootprints& blocks, const StageShape& stage);
StageFootprint stage_footprint(const StageShape& stage);

}  // namespace caravan::planner
