#include "worker/trainer/comm/mesh.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "worker/trainer/comm/solo_communicator.h"

namespace caravan::trainer {
namespace {

using planner::MeshShape;
using planner::position_of;
using planner::rank_at;

TEST(Mesh, TensorIsTheFastestAxisAndPipelineTheSlowest) {
  const MeshShape shape{.tensor = 2, .data = 3, .pipeline = 2};
  EXPECT_EQ(rank_at({.tensor = 1, .data = 0, .pipeline = 0}, shape), 1);
  EXPECT_EQ(rank_at({.tensor = 0, .data = 1, .pipeline = 0}, shape), 2);
  EXPECT_EQ(rank_at({.tensor = 0, .data = 0, .pipeline = 1}, shape), 6);
}

TEST(Mesh, EveryRankHasOnePosition) {
  const MeshShape shape{.tensor = 2, .data = 3, .pipeline = 4};
  for (int rank = 0; rank < shape.ranks(); ++rank) EXPECT_EQ(rank_at(position_of(rank, shape), shape), rank);
}

// Group name → the ranks in the group that asked for it.
std::map<std::string, std::multiset<int>> groups_of(const MeshShape& shape, bool tied) {
  std::map<std::string, std::multiset<int>> members;
  const TableStages tables{.embedding = 0, .head = shape.pipeline - 1, .tied = tied};
  for (int rank = 0; rank < shape.ranks(); ++rank) {
    form_mesh(shape, tables, rank, [&](const GroupRequest& request) {
      members[request.name].insert(request.rank);
      return std::make_unique<SoloCommunicator>();
    });
  }
  return members;
}

TEST(Mesh, EveryGroupIsJoinedOnceByEachOfItsRanks) {
  const auto members = groups_of({.tensor = 2, .data = 3, .pipeline = 4}, /*tied=*/true);
  EXPECT_EQ(members.size(), 12u + 8 + 6 + 6) << "and none of all ranks";
  for (const auto& [name, ranks] : members) {
    int expected = 0;
    for (const int rank : ranks) EXPECT_EQ(rank, expected++) << name;
  }
}

TEST(Mesh, TheEndsOfAPipelineShareAnEmbeddingGroup) {
  const auto members = groups_of({.tensor = 1, .data = 1, .pipeline = 3}, /*tied=*/true);
  EXPECT_EQ(members.at("embedding-0-0"), (std::multiset<int>{0, 1}));
}

TEST(Mesh, EndsWithTablesOfTheirOwnShareNoGroup) {
  const auto members = groups_of({.tensor = 2, .data = 3, .pipeline = 4}, /*tied=*/false);
  EXPECT_EQ(members.size(), 12u + 8 + 6);
  for (const auto& [name, ranks] : members) EXPECT_FALSE(name.starts_with("embedding")) << name;
}

TEST(Mesh, GroupsOfOneNeedNoPeer) {
  EXPECT_TRUE(groups_of({.tensor = 1, .data = 1, .pipeline = 1}, /*tied=*/true).empty());
}

}  // namespace
}  // namespace caravan::trainer
