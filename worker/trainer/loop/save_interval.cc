#include "worker/trainer/loop/save_interval.h"

namespace caravan::trainer {

bool save_is_due(const CheckpointOptions& options, int step, double since_last, const planner::SaveCost& cost,
                 const planner::FailureRecord& failures) {
  if (options.every_steps) return step % *options.every_steps == 0;
  return since_last >= (options.every_seconds ? *options.every_seconds : best_save_interval(cost, failures));
}

}  // namespace caravan::trainer
