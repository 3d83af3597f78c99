// Runs an op list with its transfers on one stage. Knows neither the schedule that made the list nor the
// model.
//
// Memory besides what the work keeps: one boundary tensor per direction for the send under way, and the one
// just received until the op that takes it begins. All sends are done when run() returns. Throws what the
// communicator and the work throw.
#pragma once

#include <vector>

#include "worker/trainer/comm/communicator.h"
#include "worker/trainer/pipeline/stage_work.h"
#include "worker/trainer/pipeline/transfers.h"

namespace caravan::trainer {

void execute(const std::vector<Action>& actions, StageWork& work, Communicator& pipeline);

}  // namespace caravan::trainer
