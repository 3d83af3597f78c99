// Which nodes of a job belong together: those that hold the ranks of one copy of the model, which pass each
// other activations and the parts of products. Between copies there are only the gradients.
//
// Ranks of one copy stand far apart in the order of ranks, since the pipeline is its slowest axis: with eight
// copies in two stages nodes 0 and 8 belong together. So groups have an order of their own, in which the
// nodes of a group are neighbours. Pure.
#pragma once

#include <vector>

#include "caravan/v1alpha1/plan.pb.h"

namespace caravan::controller {

struct ReplicaGroups {
  std::vector<std::vector<int>> groups = {};  // nodes, ascending; groups by their first node
  std::vector<int> index_of_node = {};        // the node's place when groups stand one after another

  // Nodes of a group, where all have as many; else of the whole job.
  int slice_size() const;
};

// Copies that share a node are one group.
ReplicaGroups replica_groups(const v1alpha1::JobPlan& plan);

}  // namespace caravan::controller
