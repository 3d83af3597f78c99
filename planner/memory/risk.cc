#include "planner/memory/risk.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "planner/measured_error.h"
#include "planner/memory/memory_model.h"

namespace caravan::planner {
namespace {

constexpr double kExact = 1e-12;

double spread_of(const PlanRequest& request, const EngineProfile& profile) {
  const auto measured = memory_error(request.devices, profile, request.training);
  return std::max(kExact, measured.value_or(kUnmeasuredMemoryError));
}

// Standard deviations of which 95 % of a normal distribution stay short.
constexpr double kRoomyDeviations = 1.6449;
// And of which kSureToFit does.
constexpr double kSureDeviations = 0.6745;

}  // namespace

double chance_to_fit(int64_t peak_bytes, const PlanRequest& request, const EngineProfile& profile) {
  const auto usable = usable_bytes(request.devices, profile);
  if (!usable) return 1;
  const double room = static_cast<double>(*usable) / static_cast<double>(peak_bytes) - 1;
  return 0.5 * std::erfc(-room / (spread_of(request, profile) * std::numbers::sqrt2));
}

std::optional<int64_t> roomy_bytes(const PlanRequest& request, const EngineProfile& profile) {
  const auto usable = usable_bytes(request.devices, profile);
  if (!usable) return std::nullopt;
  return static_cast<int64_t>(static_cast<double>(*usable) /
                              (1 + kRoomyDeviations * spread_of(request, profile)));
}

int64_t sure_bytes(int64_t peak_bytes, const PlanRequest& request, const EngineProfile& profile) {
  return static_cast<int64_t>(
      std::ceil(static_cast<double>(peak_bytes) * (1 + kSureDeviations * spread_of(request, profile))));
}

}  // namespace caravan::planner
