// Bandwidth between the devices of a group: of the links of a node, or of the network between nodes.
#pragma once

#include "planner/engine_profile.h"
#include "planner/mesh.h"
#include "planner/request.h"

namespace caravan::planner {

// Bytes/s that the collectives of a group along that axis reach, of the slowest such group. A group with
// several devices on every node drives as many network cards. Needs a known device.
double group_bandwidth(const DevicePool& devices, const EngineProfile& profile, const MeshShape& mesh,
                       Axis axis);
// And those of a rank and its neighbour along it, where they are furthest apart: each drives a card of its
// own.
double neighbour_bandwidth(const DevicePool& devices, const EngineProfile& profile, const MeshShape& mesh,
                           Axis axis);

}  // namespace caravan::planner
