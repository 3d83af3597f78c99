// Whether a job may use a node, as far as the node's labels, state and taints say: what a scheduler asks
// before it looks at room. Pure.
#pragma once

#include <string>
#include <vector>

#include "caravan/v1alpha1/job.pb.h"
#include "operator/view/node_view.h"

namespace caravan::controller {

// It meets worker.nodeSelector and every requirement of worker.nodeAffinity.
bool matches(const NodeView& node, const v1alpha1::Worker& worker);
// It is ready and open for pods, too. Taints are left to the scheduler.
bool is_wanted(const NodeView& node, const v1alpha1::Worker& worker);

// By worker.tolerations, or since a pod asks for the resource that the taint is named after: clusters that
// set nodes with devices apart have an admission plugin that adds those tolerations.
bool are_tolerated(const std::vector<Taint>& taints, const v1alpha1::Worker& worker, const Demand& of_a_pod);

// Empty: the node has no such label.
std::string label_of(const NodeView& node, const std::string& key);

}  // namespace caravan::controller
