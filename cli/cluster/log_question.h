// Which part of a job's log is asked for.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

namespace caravan::cli {

struct LogQuestion {
  std::string job;
  int node = 0;
  std::optional<int> rank = {};  // only what this one of the node prints
  std::optional<std::chrono::seconds> since = {};
  std::optional<int> tail = {};  // the last lines only: of the rank's, where there is one
  bool follow = false;
  std::stop_token stop = {};
};

// Gets each line without its end.
using TakeLine = std::function<void(std::string_view)>;

}  // namespace caravan::cli
