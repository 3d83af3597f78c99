// What of the cluster's GPUs is there and free, by pools of equal nodes. Pure.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "caravan/v1alpha1/capacity.pb.h"
#include "operator/view/node_view.h"

namespace caravan::controller {

// Of nodes that are ready and open for pods, those with the most devices first. taken: by node.
std::vector<v1alpha1::NodePool> node_pools(const std::vector<NodeView>& nodes,
                                           const std::map<std::string, Demand>& taken);

}  // namespace caravan::controller
