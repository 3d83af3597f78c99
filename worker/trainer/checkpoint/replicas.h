// Finds ranks whose weights are not those of the ranks that must have the same: what a processor or a memory
// that fails now and then leaves behind, and what would otherwise be saved for good.
//
// All data parallel ranks have the same weights, all ranks of a stage the same norms, and the stages with
// embedding and head the same table where it is tied. A rank sums up the bits of each of the three: one that
// differs has other sums. Two errors that cancel out are not found.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "planner/mesh.h"
#include "worker/trainer/comm/communicator.h"
#include "worker/trainer/model/parameters.h"

namespace caravan::trainer {

enum class Replica { Weights, Norms, Table };
inline constexpr std::size_t kReplicas = 3;

// By Replica; below 2^53, so that a double holds it. -1: the rank has none, or no other rank of the mesh has
// the same.
using BitSums = std::array<int64_t, kReplicas>;

BitSums bit_sums(const ParameterStore& parameters, const planner::MeshShape& mesh);

struct ReplicaDifference {
  std::vector<int>
      ranks;         // that differ from those that must have the same; where nobody is right, all of them
  std::string what;  // for people
};

// The first that is found; absent: none differs. sums: by rank. Pure.
std::optional<ReplicaDifference> difference(const std::vector<BitSums>& sums, const planner::MeshShape& mesh);

// Among all ranks: all say the same.
std::optional<ReplicaDifference> compare_replicas(Communicator& world, const ParameterStore& parameters,
                                                  const planner::MeshShape& mesh);

}  // namespace caravan::trainer
