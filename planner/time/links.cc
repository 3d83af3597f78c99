#include "planner/time/links.h"

#include <algorithm>
#include <cstdint>
#include <numeric>

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

// Blocks of ranks stand one behind the other. As many as a node has at least of one that nodes cut; the whole
// block where they cut none.
int64_t fewest_on_a_node(int64_t ranks, int64_t block, int64_t joined) {
  if (ranks <= joined || joined % block == 0) return block;
  int64_t fewest = block;
  const int64_t end = std::min(ranks, std::lcm(block, joined));  // from there on they are cut as before
  for (int64_t begin = 0; begin < end; begin += block) {
    const int64_t on_first_node = joined - begin % joined;
    if (block <= on_first_node) continue;
    const int64_t on_last_node = (begin + block - 1) % joined + 1;
    fewest = std::min({fewest, on_first_node, on_last_node});
  }
  return fewest;
}

}  // namespace

double group_bandwidth(const DevicePool& devices, const EngineProfile& profile, const MeshShape& mesh,
                       Axis axis) {
  const Links links(devices, profile);
  const int stride = mesh.stride(axis);
  const int64_t block = int64_t{stride} * along(mesh, axis);
  const int64_t fewest = fewest_on_a_node(mesh.ranks(), block, links.joined);
  if (fewest == block) return links.inside;
  const int64_t members = std::max<int64_t>(1, fewest / stride);
  return std::min(links.inside, static_cast<double>(members) * links.card);
}

double neighbour_bandwidth(const DevicePool& devices, const EngineProfile& profile, const MeshShape& mesh,
                           Axis axis) {
  const Links links(devices, profile);
  const bool all_inside = int64_t{mesh.stride(axis)} * along(mesh, axis) <= links.joined;
  return all_inside ? links.inside : std::min(links.inside, links.card);
}

}  // namespace caravan::planner
