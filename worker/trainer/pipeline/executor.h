// Runs an op list with its transfers on one stage. Knows neither the schedule that made the list nor the
// model.
//
// Memory besides what the work keeps: a boundary tensor for each send under way, for what one group of layers
// handed over to the next one on this stage, and for what the next op receives, from when the op before it
// begins. All sends are done when execute() returns. Throws what the
// communicator and the work throw; an error of a transfer says which op it was for.
#pragma once

#include <vector>

#include "planner/schedule/transfers.h"
#include "worker/trainer/comm/communicator.h"
#include "worker/trainer/pipeline/stage_work.h"

namespace caravan::trainer {

void execute(const std::vector<planner::Action>& actions, StageWork& work, Communicator& pipeline);

}  // namespace caravan::trainer
