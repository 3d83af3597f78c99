// How the ranks of a job are spread over its nodes: in blocks, node by node, all as large but for the last
// one, which may be smaller.
#pragma once

#include <algorithm>

#include "caravan/v1alpha1/plan.pb.h"
#include "planner/mesh.h"

namespace caravan::planner {

struct JobShape {
  int nodes = 1;
  int world_size = 1;

  int ranks_per_node() const { return (world_size + nodes - 1) / nodes; }
  int first_rank(int node) const { return node * ranks_per_node(); }
  int last_rank(int node) const { return std::min(first_rank(node) + ranks_per_node(), world_size) - 1; }
  int ranks_of(int node) const { return last_rank(node) - first_rank(node) + 1; }
  int node_of(int rank) const { return rank / ranks_per_node(); }
  bool owns(int node, int rank) const { return rank >= first_rank(node) && rank <= last_rank(node); }
};

// On as few nodes of that size as hold the devices.
inline JobShape spread(int devices, int node_size) {
  return {.nodes = (devices + node_size - 1) / node_size, .world_size = devices};
}

inline MeshShape mesh_of(const v1alpha1::Plan& plan) {
  return {.tensor = plan.tensor(), .data = plan.data(), .pipeline = plan.pipeline()};
}

inline JobShape shape_of(const v1alpha1::JobPlan& job) {
  return {.nodes = job.nodes(), .world_size = static_cast<int>(mesh_of(job.plan()).ranks())};
}

}  // namespace caravan::planner
