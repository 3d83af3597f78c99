// Runs every op of a stage once, before the first step, while no message of the pipeline is under way.
//
// A device that is given a kernel for the first time loads it, for which some drivers wait until all is done
// that the device has been given before. A message to or from a neighbour is done when the neighbour takes
// part, and one that loads a kernel at the same time waits for this stage as well, for ever. Behind a
// rehearsal a step finds its kernels loaded.
//
// Nothing is left of it: weights and states are those of before, to the bit, and gradients zero.
#pragma once

#include "worker/trainer/loop/rank.h"
#include "worker/trainer/loop/training_work.h"

namespace caravan::trainer {

// tokens: of any step. All ranks do so, before their first one: sums over tensor and data groups are part of
// it. Throws what a step does.
void rehearse(Rank& rank, const WorkPlace& place, const StepTokens& tokens);

}  // namespace caravan::trainer
