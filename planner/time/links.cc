#include "planner/time/links.h"

#include <algorithm>

namespace caravan::planner {

namespace {

// Of `size` ranks, neighbours `stride` ranks apart.
double bandwidth(const DevicePool& devices, const EngineProfile& profile, int stride, int size) {
  const DeviceProduct& device = *devices.known;
  const bool rack_switch = device.link_domain > device.devices_per_node;
  const int joined = rack_switch ? device.link_domain : devices.per_node;
  const double inside = device.node_bandwidth * profile.node_bandwidth_fraction;
  if (int64_t{stride} * size <= joined) return inside;
  const int members = std::clamp(joined / stride, 1, size);
  return std::min(inside, members * device.network_bandwidth * profile.network_bandwidth_fraction);
}

}  // namespace

double group_bandwidth(const DevicePool& devices, const EngineProfile& profile, const MeshShape& mesh,
                       Axis axis) {
  return bandwidth(devices, profile, mesh.stride(axis), along(mesh, axis));
}

double neighbour_bandwidth(const DevicePool& devices, const EngineProfile& profile, const MeshShape& mesh,
                           Axis axis) {
  return bandwidth(devices, profile, mesh.stride(axis), 2);
}

}  // namespace caravan::planner
