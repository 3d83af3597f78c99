#include "planner/time/links.h"

#include <algorithm>

namespace caravan::planner {
namespace {

// What joins devices: links among so many of them, and a network card for each.
struct Links {
  Links(const DevicePool& devices, const EngineProfile& profile) {
    const DeviceProduct& device = *devices.known;
    joined = devices.joined();
    inside = device.node_bandwidth * profile.node_bandwidth_fraction;
    card = device.network_bandwidth * profile.network_bandwidth_fraction;
  }

  int joined = 1;
  double inside = 0;  // bytes/s
  double card = 0;
};

}  // namespace

double group_bandwidth(const DevicePool& devices, const EngineProfile& profile, const MeshShape& mesh,
                       Axis axis) {
  const Links links(devices, profile);
  const int stride = mesh.stride(axis);
  const int size = along(mesh, axis);
  if (int64_t{stride} * size <= links.joined) return links.inside;
  const int members = std::clamp(links.joined / stride, 1, size);
  return std::min(links.inside, members * links.card);
}

double neighbour_bandwidth(const DevicePool& devices, const EngineProfile& profile, const MeshShape& mesh,
                           Axis axis) {
  const Links links(devices, profile);
  const bool all_inside = int64_t{mesh.stride(axis)} * along(mesh, axis) <= links.joined;
  return all_inside ? links.inside : std::min(links.inside, links.card);
}

}  // namespace caravan::planner
