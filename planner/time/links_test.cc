#include "planner/time/links.h"

#include <gtest/gtest.h>

#include "planner/testing/jobs.h"

namespace caravan::planner {
namespace {

// Of the data group of a mesh with `stride` tensor parallel ranks.
double bandwidth(const std::string& product, int stride, int size) {
  EngineProfile profile = default_profile();
  profile.node_bandwidth_fraction = 1;
  profile.network_bandwidth_fraction = 1;
  return group_bandwidth(request_of(gpu_job("llama3-8b", 256, product)).devices, profile,
                         {.tensor = stride, .data = size}, Axis::Data);
}

TEST(Links, AGroupWithinANodeUsesItsLinks) {
  EXPECT_EQ(bandwidth("H100-80GB", 1, 8), 450e9);
  EXPECT_EQ(bandwidth("H100-80GB", 2, 4), 450e9);
}

TEST(Links, AGroupBetweenNodesDrivesTheCardsOfItsMembers) {
  EXPECT_EQ(bandwidth("H100-80GB", 8, 4), 50e9);
  EXPECT_EQ(bandwidth("H100-80GB", 4, 16), 100e9);
  EXPECT_EQ(bandwidth("H100-80GB", 16, 2), 50e9);
}

TEST(Links, ManyCardsAreNoFasterThanTheNodesLinks) {
  EXPECT_EQ(bandwidth("H100-80GB", 1, 64), 400e9);
  EXPECT_EQ(bandwidth("L40S", 1, 64), bandwidth("L40S", 1, 8));
}

TEST(Links, ARackWithASwitchIsOneNode) {
  EXPECT_EQ(bandwidth("GB200", 8, 8), bandwidth("GB200", 1, 4));
}

// With two stages on a node, every second boundary between stages is one between nodes.
TEST(Links, StagesThatLeaveANodeSendOverTheNetwork) {
  EngineProfile profile = default_profile();
  profile.node_bandwidth_fraction = profile.network_bandwidth_fraction = 1;
  const PlanRequest request = request_of(gpu_job("llama3-8b", 256, "H100-80GB"));
  const auto between_stages = [&](const MeshShape& mesh) {
    return neighbour_bandwidth(request.devices, profile, mesh, Axis::Pipeline);
  };
  EXPECT_EQ(between_stages({.tensor = 4, .pipeline = 2}), 450e9);
  EXPECT_EQ(between_stages({.tensor = 4, .pipeline = 4}), 50e9);
  EXPECT_EQ(between_stages({.tensor = 8, .pipeline = 2}), 50e9);
}

}  // namespace
}  // namespace caravan::planner
