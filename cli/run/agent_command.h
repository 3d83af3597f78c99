// The command line and the environment of one agent of a local run. Pure.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "planner/job_shape.h"

namespace caravan::cli {

// What all agents of a run share.
struct AgentSettings {
  std::filesystem::path work_directory;
  std::filesystem::path socket_directory;
  int nodes = 1;
  int threads_per_rank = 1;
  std::vector<std::vector<int>> processors = {};  // that each node has for itself; empty: they share all
  std::vector<std::string> gpus = {};             // the same, by share_gpus
  std::optional<int> metrics_port;                // of node 0; node i takes the i-th after it
  int launcher = 0;                               // the process with which the agents end
  std::filesystem::path trace_directory = {};     // empty: no traces are written
  std::filesystem::path event_folder = {};        // for TensorBoard; empty: no events are written
};

// What changes from one start of an agent to the next.
struct AgentStart {
  int node = 0;
  int first_attempt = 1;
  int restarts = 0;
  int counted_restarts = 0;  // in the window of the failure policy
  int window_age_seconds = 0;
  int short_attempts = 0;  // in a row
  int elapsed_seconds = 0;
};

// To each node as many as it has ranks, as CUDA_VISIBLE_DEVICES has them; none where one node has all.
std::vector<std::string> share_gpus(const std::vector<std::string>& gpus, const planner::JobShape& shape);

std::filesystem::path plan_file(const AgentSettings& settings);
std::string reports_address(const AgentSettings& settings);
// The agent's own log; those of its ranks stand in the folder node-I beside it.
std::filesystem::path agent_log(const AgentSettings& settings, int node);

std::vector<std::string> agent_arguments(const AgentSettings& settings, const AgentStart& start);
// Beside what this process has.
std::vector<std::pair<std::string, std::string>> agent_environment(const AgentSettings& settings, int node);

}  // namespace caravan::cli
