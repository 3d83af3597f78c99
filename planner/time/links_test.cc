#include "planner/time/links.h"

#include <gtest/gtest.h>

#include "planner/testing/jobs.h"

namespace caravan::planner {
namespace {

// Of the data group of a mesh with `stride` tensor parallel ranks.
double bandwidth(const std::string& product, int stride, int size, int stages = 1) {
  EngineProfile profile = default_profile();
  profile.node_bandwidth_fraction = 1;
  profile.network_bandwidth_fraction = 1;
  return group_bandwidth(request_of(gpu_job("llama3-8b", 256, product)).devices, profile,
                         {.tensor = stride, .data = size, .pipeline = stages}, Axis::Data);
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

// Of two stages of 6 ranks on nodes of 8, the second one has 2 of them on the first node.
TEST(Links, AStageThatNodesCutDrivesTheCardsOfTheNodeThatHasTheFewestOfIt) {
  EXPECT_EQ(bandwidth("H100-80GB", 2, 3), 450e9) << "one stage alone";
  EXPECT_EQ(bandwidth("H100-80GB", 2, 3, 4), 50e9);
  EXPECT_EQ(bandwidth("H100-80GB", 1, 6, 4), 100e9);
  EXPECT_EQ(bandwidth("H100-80GB", 1, 12, 2), 200e9);
  EXPECT_EQ(bandwidth("H100-80GB", 2, 2, 6), 450e9) << "two stages on each node";
}

TEST(Links, ARackWithASwitchIsOneNode) {
  EXPECT_EQ(bandwidth("GB200", 8, 8), bandwidth("GB200", 1, 4));
}

// 128 ranks are 72 and 56 of them, 256 are three times 72 and 40.
TEST(Links, ARackThatTheJobDoesNotFillHasTheCardsOfTheRanksThatAreThere) {
  EXPECT_EQ(bandwidth("GB200", 8, 16), 7 * 50e9);
  EXPECT_EQ(bandwidth("GB200", 1, 128), 900e9) << "56 cards are faster than the switch";
  EXPECT_EQ(bandwidth("GB200", 8, 32), 5 * 50e9);
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
