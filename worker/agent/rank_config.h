// What a rank is told: its RankConfig and its environment. Pure.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "caravan/v1alpha1/rank.pb.h"

namespace caravan::agent {

// Where the ranks of an attempt meet, and how long a step may take as the job says now.
struct Master {
  int attempt = 0;
  std::string address;
  int port = 0;
  std::optional<std::chrono::seconds> stall_timeout = {};  // absent: as the job said when the agent began
};

// What the ranks of a node have in common.
struct RankSettings {
  std::string host;  // address of the node
  int threads = 1;   // of each rank
  std::string trace_directory = {};
};

// Without descriptors: -1.
v1alpha1::RankConfig make_rank_config(const v1alpha1::JobPlan& job, const Master& master, int rank,
                                      const RankSettings& settings);

// The torch-standard variables.
std::vector<std::pair<std::string, std::string>> rank_environment(const v1alpha1::RankConfig& config);

}  // namespace caravan::agent
