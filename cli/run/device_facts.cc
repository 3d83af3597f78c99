#include "cli/run/device_facts.h"

#include <algorithm>

namespace caravan::cli {

planner::DeviceFacts device_facts(const v1alpha1::Resources& resources, const Machine& machine) {
  const planner::SharedMachine shared{.memory_bytes = machine.memory_bytes, .cores = machine.cores};
  planner::DeviceFacts facts;
  facts.threads_per_rank = shared.threads_per_rank(std::max(1, resources.devices()));
  if (resources.device().kind() == v1alpha1::Device::CPU) facts.machine = shared;
  return facts;
}

}  // namespace caravan::cli
