// Whether a job's next checkpoint is due: as its user says, or as it costs least. Pure.
#pragma once

#include "planner/time/save_interval.h"
#include "worker/trainer/loop/trainer_options.h"

namespace caravan::trainer {

// since_last: seconds from the last one, or the start, to the end of this step.
bool save_is_due(const CheckpointOptions& options, int step, double since_last, const planner::SaveCost& cost,
                 const planner::FailureRecord& failures);

}  // namespace caravan::trainer
