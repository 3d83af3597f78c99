#include "cli/run/device_facts.h"

#include <algorithm>

namespace caravan::cli {

planner::DeviceFacts device_facts(const v1alpha1::Resources& resources, const Machine& machine) {
  planner::DeviceFacts facts;
  if (resources.device().kind() != v1alpha1::Device::CPU) return facts;
  const int ranks = std::max(1, resources.devices());
  facts.memory_bytes = machine.memory_bytes / ranks;
  facts.threads_per_rank = std::max(1, machine.cores / ranks);
  return facts;
}

}  // namespace caravan::cli
