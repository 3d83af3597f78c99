// How long the blocks of a model take on one device, for one micro-batch or a segment of it: the rows of the
// table of work (planner/work/blocks.h), timed.
//
// A product of matrices runs at a part of the device's measured rate that grows with its rows, and not before
// its weights went through memory; attention, what moves through memory, and launches come on top; tensor
// parallel traffic is not hidden. Of fp32 on GPUs the rate is that without tensor cores, and attention is
// plain products, of later tokens too. An engine that is known by its coefficients makes a whole layer again
// where we leave out what only its output needs, does not cut its head into chunks, and hides the gathers of
// its weight gradients; its bytes are those of the coefficients. Pure.
#pragma once

#include "planner/engine_profile.h"
#include "planner/layout.h"
#include "planner/request.h"
#include "planner/schedule/simulate.h"

namespace caravan::planner {

// Seconds. Without a known product a FLOP takes one second and all else nothing: good for proportions.
struct BlockTime {
  PhaseTimes work = {.forward = 0, .backward_input = 0, .backward_weight = 0};  // traffic included
  double traffic = 0;  // collectives of the tensor group

  BlockTime& operator+=(const BlockTime& other);
  friend BlockTime operator*(double times, const BlockTime& block);
};

struct BlockTimes {
  BlockTime layer;
  BlockTime again;  // of what a layer's backward runs again, where it does
  BlockTime embedding;
  BlockTime head;
};

// segment: of the micro-batch's sequences that is at work; the first where they are whole.
BlockTimes block_times(const PlanRequest& request, const Layout& layout, const EngineProfile& profile,
                       int segment = 0);

// Operations that the model's layers make again, for each token (attention not causal, as in `mfu`).
double recomputed_flops_per_token(const PlanRequest& request, const Layout& layout,
                                  const EngineProfile& profile);

}  // namespace caravan::planner
