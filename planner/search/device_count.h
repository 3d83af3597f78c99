// Whether a job fits, and the smallest number of devices on which it does.
//
// Looks at memory and legality alone. Exact as far as data parallel replicas, from two on, never need more
// memory than fewer of them do: the properties' test holds the memory model to that.
#pragma once

#include <optional>

#include "planner/engine_profile.h"
#include "planner/request.h"

namespace caravan::planner {

// Any layout that the request leaves open, checkpointing policy and schedule included; of schedules that are
// arranged as many as the search looks at.
bool anything_fits(const PlanRequest& request, const EngineProfile& profile);

struct DeviceCount {
  std::optional<int> smallest;    // nothing: no number up to the devices' maximum fits
  bool everything_tried = false;  // else there may be a smaller one: the model has too many layers to try all
  bool whole_nodes = false;       // of whole nodes it is the smallest number; others were not tried
  bool operator==(const DeviceCount&) const = default;
};
// Fewer than one node has, or else whole nodes, as clusters of GPUs are used. Other numbers only where none
// of these fits, and the job may have them.
DeviceCount smallest_device_count(const PlanRequest& request, const EngineProfile& profile);

}  // namespace caravan::planner
