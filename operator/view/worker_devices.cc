#include "operator/view/worker_devices.h"

#include <algorithm>

#include "common/quantity.h"

namespace caravan::controller {
namespace {

constexpr char kDevices[] = "devices";  // the claim that stands in for the extended resource

}  // namespace

int threads_per_rank(const v1alpha1::JobSpec& spec, int ranks_per_pod) {
  const auto cores = parse_quantity(spec.worker().resources().cpu());
  return cores ? std::max(1, static_cast<int>(*cores) / ranks_per_pod) : 1;
}

std::optional<std::int64_t> memory_per_rank(const v1alpha1::JobSpec& spec, int ranks_per_pod) {
  const auto memory = parse_quantity(spec.worker().resources().memory());
  return memory ? std::optional(*memory / ranks_per_pod) : std::nullopt;
}

bool has_claimed_devices(const v1alpha1::Worker& worker) {
  return std::ranges::any_of(worker.resource_claims(),
                             [](const auto& claim) { return claim.name() == kDevices; });
}

}  // namespace caravan::controller
