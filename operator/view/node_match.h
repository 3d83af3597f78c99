// Whether a job may use a node, as far as the node's labels and state say: what a scheduler asks before it
// looks at room. Taints are left to the scheduler. Pure.
#pragma once

#include "caravan/v1alpha1/job.pb.h"
#include "operator/view/node_view.h"

namespace caravan::controller {

// Ready, open for pods, and meeting worker.nodeSelector and every requirement of worker.nodeAffinity.
bool is_wanted(const NodeView& node, const v1alpha1::Worker& worker);

// Empty: the node has no such label.
std::string label_of(const NodeView& node, const std::string& key);

}  // namespace caravan::controller
