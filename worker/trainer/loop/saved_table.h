// The table of what one micro-batch keeps on a stage, in all of its chunks, as a rank reports it at the
// start.
#pragma once

#include <vector>

#include "worker/trainer/loop/reporter.h"
#include "worker/trainer/loop/trainer_options.h"
#include "worker/trainer/model/parameters.h"

namespace caravan::trainer {

// Rows of a layer stand for all layers of the stage, those that are made again apart.
std::vector<SavedTensorRecord> saved_table(const TrainerOptions& options, const StagePlacement& placement);

}  // namespace caravan::trainer
