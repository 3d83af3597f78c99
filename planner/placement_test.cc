#include "planner/placement.h"

#include <gtest/gtest.h>

namespace caravan::planner {
namespace {

TEST(Placement, TheEndsOfTheModelStandOnTheFirstAndTheLastGroup) {
  const Placement placement = place_layers({.mesh = {.pipeline = 3}, .layers_per_stage = {2, 3, 1}});
  ASSERT_EQ(placement.groups.size(), 3u);
  EXPECT_EQ(placement.groups[0], (LayerGroup{.stage = 0, .layers = 2, .has_embedding = true}));
  EXPECT_EQ(placement.groups[1], (LayerGroup{.stage = 1, .first_layer = 2, .layers = 3}));
  EXPECT_EQ(placement.groups[2], (LayerGroup{.stage = 2, .first_layer = 5, .layers = 1, .has_head = true}));
}

TEST(Placement, ChunksOfAStageShareItsLayersAndFollowEachOtherOverTheStages) {
  const Placement placement =
      place_layers({.mesh = {.pipeline = 2}, .virtual_stages = 2, .layers_per_stage = {4, 6}});
  std::vector<int> first_layers;
  for (const LayerGroup& group : placement.groups) first_layers.push_back(group.first_layer);
  EXPECT_EQ(first_layers, (std::vector<int>{0, 2, 5, 7}));
  EXPECT_EQ(placement.group(1, 0).layers, 3);
  EXPECT_EQ(placement.layers_of(1), 6);
  EXPECT_EQ(placement.head_stage(), 1);
}

TEST(ChunkMap, DownAndUpAgainBringsTheHeadToTheFirstStage) {
  const ChunkMap map{.stages = 3, .chunks = 2, .order = ChunkOrder::V};
  EXPECT_EQ(map.group_of(0, 1), 5);
  for (int group = 0; group < map.groups(); ++group)
    EXPECT_EQ(map.group_of(map.stage_of(group), map.chunk_of(group)), group);
}

}  // namespace
}  // namespace caravan::planner
