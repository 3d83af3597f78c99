#include "operator/service/pool_board.h"

namespace caravan::controller {

std::vector<v1alpha1::NodePool> PoolBoard::pools() {
  const std::scoped_lock lock(mutex_);
  const auto now = clock_.now();
  if (now < until_) return pools_;
  std::vector<NodeView> nodes;
  for (const kube::ObjectPtr& node : nodes_.all()) nodes.push_back(read_node(node->parse()));
  pools_ = node_pools(nodes, taken_of(pods_));
  until_ = now + kStands;
  return pools_;
}

}  // namespace caravan::controller
