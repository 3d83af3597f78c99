#include "planner/warnings.h"

#include <fmt/format.h>

namespace caravan::planner {

std::vector<std::string> warnings_for(const PlanRequest& request, const EvaluatedLayout* candidate) {
  std::vector<std::string> warnings;
  const auto& positions = request.shape.positions;
  if (positions && request.training.sequence_length > *positions) {
    warnings.push_back(
        fmt::format("spec.training.sequenceLength: {} is longer than the {} positions that {} was made for",
                    request.training.sequence_length, *positions, request.shape.name));
  }
  const DevicePool& devices = request.devices;
  if (candidate && devices.crosses_nodes(candidate->layout.mesh.tensor) && !request.keeps_copies_together) {
    warnings.push_back(fmt::format(
        "spec.scheduling.topology: a tensor group of {} stands on several nodes of {}, which the switch of a "
        "rack joins; set mode and key, since nothing else keeps the group in one rack",
        candidate->layout.mesh.tensor, devices.per_node));
  }
  return warnings;
}

}  // namespace caravan::planner
