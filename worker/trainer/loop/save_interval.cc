#include "worker/trainer/loop/save_interval.h"

#include <algorithm>
#include <cmath>

namespace caravan::trainer {
namespace {

constexpr double kRankSecondsToAFailure = 54.0 * 86'400 * 16'384 / 419;
constexpr double kShortest = 60;
constexpr double kLongest = 3600;

}  // namespace

double best_save_interval(const SaveCost& cost, const FailureRecord& failures) {
  const double between_failures =
      (kRankSecondsToAFailure / failures.ranks + failures.run_seconds) / (1 + failures.restarts);
  const double cheapest = std::sqrt(2 * cost.stall_seconds * between_failures);
  return std::max(std::clamp(cheapest, kShortest, kLongest), 2 * cost.seconds);
}

bool save_is_due(const CheckpointOptions& options, int step, double since_last, const SaveCost& cost,
                 const FailureRecord& failures) {
  if (options.every_steps) return step % *options.every_steps == 0;
  return since_last >= (options.every_seconds ? *options.every_seconds : best_save_interval(cost, failures));
}

}  // namespace caravan::trainer
