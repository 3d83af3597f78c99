// Bandwidth between the devices of a group: of the links of a node, or of the network between nodes.
#pragma once

#include "planner/engine_profile.h"
#include "planner/request.h"

namespace caravan::planner {

// Bytes/s that collectives of a group of `size` ranks reach, neighbours `stride` ranks apart. A group with
// several devices on a node drives as many network cards. Needs a known device.
double group_bandwidth(const DevicePool& devices, const EngineProfile& profile, int stride, int size);

}  // namespace caravan::planner
