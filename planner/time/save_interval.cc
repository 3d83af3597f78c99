#include "planner/time/save_interval.h"

#include <algorithm>
#include <cmath>

namespace caravan::planner {
namespace {

constexpr double kRankSecondsToAFailure = 54.0 * 86'400 * 16'384 / 419;
constexpr double kShortest = 60;
constexpr double kLongest = 3600;

}  // namespace

double best_save_interval(const SaveCost& cost, const FailureRecord& failures) {
  const double between_failures =
      (kRankSecondsToAFailure / failures.ranks + failures.run_seconds) / (1 + failures.attempts_before);
  const double cheapest = std::sqrt(2 * cost.stall_seconds * between_failures);
  return std::max(std::clamp(cheapest, kShortest, kLongest), 2 * cost.seconds);
}

}  // namespace caravan::planner
