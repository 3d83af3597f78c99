#include "operator/view/node_pools.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <tuple>

#include "operator/api/device_labels.h"
#include "operator/view/node_match.h"

namespace caravan::controller {
namespace {

using v1alpha1::NodePool;
using PoolKey = std::tuple<std::string, std::string, int>;  // resource, product, devices of a node

void add_memory(const NodeView& node, const DeviceLabels& labels, NodePool& pool) {
  const auto memory = labels.memory_bytes(label_of(node, labels.memory));
  if (!memory) return;
  pool.set_memory_bytes(pool.memory_bytes() == 0 ? *memory : std::min(pool.memory_bytes(), *memory));
}

void add_node(std::int64_t devices, std::int64_t taken, NodePool& pool) {
  pool.set_nodes(pool.nodes() + 1);
  pool.set_devices(pool.devices() + devices);
  pool.set_free_devices(pool.free_devices() + devices - std::clamp<std::int64_t>(taken, 0, devices));
  if (taken == 0) pool.set_free_nodes(pool.free_nodes() + 1);
}

}  // namespace

std::vector<NodePool> node_pools(const std::vector<NodeView>& nodes,
                                 const std::map<std::string, Demand>& taken) {
  std::map<PoolKey, NodePool> pools;
  for (const NodeView& node : nodes) {
    if (!node.usable) continue;
    const auto used = taken.find(node.name);
    for (const auto& [resource, devices] : node.allocatable) {
      if (!is_gpu(resource) || devices <= 0 || devices > std::numeric_limits<int>::max()) continue;
      const DeviceLabels& labels = labels_of(resource);
      const std::string product = label_of(node, labels.product);
      NodePool& pool = pools[{resource, product, static_cast<int>(devices)}];
      add_node(devices, used == taken.end() ? 0 : amount_of(used->second, resource), pool);
      add_memory(node, labels, pool);
    }
  }
  std::vector<NodePool> told;
  for (auto& [key, pool] : pools) {
    pool.set_resource(std::get<0>(key));
    pool.set_product(std::get<1>(key));
    pool.set_devices_per_node(std::get<2>(key));
    told.push_back(std::move(pool));
  }
  std::ranges::stable_sort(told, std::greater(), &NodePool::devices);
  return told;
}

}  // namespace caravan::controller
