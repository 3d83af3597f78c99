// Reads the log of one node of a job, pod after pod: when an attempt ends, the next one's pod is gone on
// with.
//
// A stream that breaks is opened again behind its last line, by the time that the server gives each line.
// Following goes on while the API server or a machine does not answer, and ends where a right is missing.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "cli/cluster/cluster.h"

namespace caravan::cli {

struct LogQuestion {
  std::string job;
  int node = 0;
  std::optional<int> rank = {};  // only what this one of the node prints
  std::optional<std::chrono::seconds> since = {};
  std::optional<int> tail = {};  // the last lines only: of the rank's, where there is one
  bool follow = false;
};

// take: gets each line without its end.
Status read_log(Cluster& cluster, const LogQuestion& question,
                const std::function<void(std::string_view)>& take);

}  // namespace caravan::cli
