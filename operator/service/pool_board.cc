#include "operator/service/pool_board.h"

#include "operator/view/node_pools.h"

namespace caravan::controller {

std::optional<PoolBoard::Pools> PoolBoard::pools() {
  {
    const std::scoped_lock lock(mutex_);
    if (is_looked_at_ || clock_.now() < until_) return pools_;
    if (!is_filled_()) return std::nullopt;
    is_looked_at_ = true;
  }
  Pools found = look();
  const std::scoped_lock lock(mutex_);
  is_looked_at_ = false;
  until_ = clock_.now() + kStands;
  pools_ = found;
  return found;
}

PoolBoard::Pools PoolBoard::look() const {
  std::vector<NodeView> nodes;
  for (const kube::ObjectPtr& node : nodes_.all()) nodes.push_back(read_node(node->parse()));
  return node_pools(nodes, taken_.by_machine());
}

}  // namespace caravan::controller
