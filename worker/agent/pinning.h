// Which processors each rank of a node has for itself, so that ranks do not move and their memory stays near
// them. Pure.
//
// Only where the processors are this node's alone: ranks of two jobs that were pinned to the same ones would
// share them while others idle. And only where each thread has one: threads that must take turns do so better
// wherever there is room. How many threads a rank has stays what it is, and so do its results.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "caravan/v1alpha1/plan.pb.h"
#include "worker/agent/options.h"

namespace caravan::agent {

// For each rank of this node, in their order; empty: none has its own. allowed: those of this process.
std::vector<std::vector<int>> processors_of_ranks(const v1alpha1::JobPlan& job, const AgentOptions& options,
                                                  const std::vector<int>& allowed);

// In a pod that may use fewer processors than its ranks have threads; empty otherwise.
std::string shortage_of_processors(const v1alpha1::JobPlan& job, const AgentOptions& options, int usable);

}  // namespace caravan::agent
