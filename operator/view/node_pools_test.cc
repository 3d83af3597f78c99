// How many GPUs there are and how many are free, by pools of nodes.
#include "operator/view/node_pools.h"

#include <gmock/gmock.h>

#include "operator/api/names.h"

namespace caravan::controller {
namespace {

using ::testing::ElementsAre;

NodeView node(const std::string& name, const std::string& product, std::int64_t devices,
              const std::string& mebibytes = "") {
  NodeView view{.name = name, .allocatable = {{"nvidia.com/gpu", devices}, {"cpu", 64}}};
  view.labels[labels::kNvidiaProduct] = product;
  if (!mebibytes.empty()) view.labels[labels::kNvidiaMemory] = mebibytes;
  return view;
}

std::string line_of(const v1alpha1::NodePool& pool) {
  return pool.product() + " x" + std::to_string(pool.devices_per_node()) + ": " +
         std::to_string(pool.free_devices()) + "/" + std::to_string(pool.devices()) + " devices, " +
         std::to_string(pool.free_nodes()) + "/" + std::to_string(pool.nodes()) + " nodes";
}

std::vector<std::string> lines_of(const std::vector<v1alpha1::NodePool>& pools) {
  std::vector<std::string> lines;
  for (const v1alpha1::NodePool& pool : pools) lines.push_back(line_of(pool));
  return lines;
}

TEST(NodePools, AreNodesWithOneProductAndAsManyDevices) {
  const std::vector<NodeView> nodes{node("a", "H100", 8), node("b", "H100", 8), node("c", "H100", 4),
                                    node("d", "L4", 1)};
  EXPECT_THAT(lines_of(node_pools(nodes, {})),
              ElementsAre("H100 x8: 16/16 devices, 2/2 nodes", "H100 x4: 4/4 devices, 1/1 nodes",
                          "L4 x1: 1/1 devices, 1/1 nodes"));
}

TEST(NodePools, WhatJobsHaveIsNotFree) {
  const std::vector<NodeView> nodes{node("a", "H100", 8), node("b", "H100", 8), node("c", "H100", 8)};
  const std::map<std::string, Demand> taken{{"a", {{"nvidia.com/gpu", 2}}},
                                            {"b", {{"cpu", 8}}},
                                            {"c", {{"nvidia.com/gpu", 16}}},
                                            {"gone", {{"nvidia.com/gpu", 8}}}};
  EXPECT_THAT(lines_of(node_pools(nodes, taken)), ElementsAre("H100 x8: 14/24 devices, 1/3 nodes"));
}

TEST(NodePools, APodThatAsksForMoreThanThereIsTakesWhatThereIs) {
  const kube::Json pod = kube::parse_json(R"({"spec": {"containers": [
      {"resources": {"requests": {"nvidia.com/gpu": "9000000000000000000"}}},
      {"resources": {"requests": {"nvidia.com/gpu": "9000000000000000000"}}}]}})",
                                          "pod")
                             .value();
  EXPECT_THAT(lines_of(node_pools({node("a", "H100", 8)}, {{"a", read_demand(pod)}})),
              ElementsAre("H100 x8: 0/8 devices, 0/1 nodes"));
}

TEST(NodePools, NodesThatTakeNoPodsAndThatHaveNoGpuDoNotCount) {
  NodeView cordoned = node("a", "H100", 8);
  cordoned.usable = false;
  NodeView bare{.name = "b", .allocatable = {{"cpu", 8}, {"nvidia.com/gpu", 0}}};
  EXPECT_TRUE(node_pools({cordoned, bare}, {}).empty());
}

TEST(NodePools, MemoryIsThatOfTheSmallestDeviceThatSaysSo) {
  const auto pools = node_pools({node("a", "A", 8), node("b", "A", 8, "2"), node("c", "A", 8, "1")}, {});
  ASSERT_EQ(pools.size(), 1U);
  EXPECT_EQ(pools[0].memory_bytes(), 1 << 20);
}

}  // namespace
}  // namespace caravan::controller
