#include "operator/children/replica_groups.h"

#include <algorithm>
#include <numeric>

#include "planner/mesh.h"

namespace caravan::controller {
namespace {

// Nodes that are joined, each by way of the least one that is known: union and find.
class Joined {
 public:
  explicit Joined(int nodes) : parents_(static_cast<std::size_t>(nodes)) {
    std::iota(parents_.begin(), parents_.end(), 0);
  }
  int first_of(int node) {
    while (parent(node) != node) node = parent(node) = parent(parent(node));
    return node;
  }
  void join(int a, int b) {
    a = first_of(a);
    b = first_of(b);
    parent(std::max(a, b)) = std::min(a, b);
  }

 private:
  int& parent(int node) { return parents_[static_cast<std::size_t>(node)]; }
  std::vector<int> parents_;
};

}  // namespace

int ReplicaGroups::slice_size() const {
  const std::size_t first = groups.empty() ? 0 : groups.front().size();
  const bool same = std::ranges::all_of(groups, [&](const auto& group) { return group.size() == first; });
  return static_cast<int>(same ? first : index_of_node.size());
}

ReplicaGroups replica_groups(const v1alpha1::JobPlan& plan) {
  const planner::MeshShape mesh{
      .tensor = plan.plan().tensor(), .data = plan.plan().data(), .pipeline = plan.plan().pipeline()};
  const int per_node = (plan.plan().devices() + plan.nodes() - 1) / plan.nodes();
  Joined joined(plan.nodes());
  for (int rank = 0; rank < mesh.ranks(); ++rank) {
    const planner::MeshPosition at = planner::position_of(rank, mesh);
    joined.join(planner::rank_at({.data = at.data}, mesh) / per_node, rank / per_node);
  }
  ReplicaGroups result;
  std::vector<int> group_of_first(static_cast<std::size_t>(plan.nodes()), -1);
  for (int node = 0; node < plan.nodes(); ++node) {
    int& group = group_of_first[static_cast<std::size_t>(joined.first_of(node))];
    if (group < 0) {
      group = static_cast<int>(result.groups.size());
      result.groups.emplace_back();
    }
    result.groups[static_cast<std::size_t>(group)].push_back(node);
  }
  result.index_of_node.resize(static_cast<std::size_t>(plan.nodes()));
  int index = 0;
  for (const std::vector<int>& group : result.groups) {
    for (const int node : group) result.index_of_node[static_cast<std::size_t>(node)] = index++;
  }
  return result;
}

}  // namespace caravan::controller
