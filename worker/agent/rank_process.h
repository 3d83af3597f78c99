// One rank: its process, the pipe its reports come up, the pipe commands go down, its log file.
//
// Nothing here blocks. The destructor kills the rank, and its end whatever is left in its process group.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "caravan/v1alpha1/coordination.pb.h"
#include "common/line_reader.h"
#include "common/process.h"
#include "worker/agent/rank_log.h"

namespace caravan::agent {

// A line that is longer is no report.
inline constexpr std::size_t kLongestReport = std::size_t{1} << 20;

struct RankLaunch {
  std::string trainer;
  std::filesystem::path directory;   // gets rank-R.json and rank-R.log; exists
  v1alpha1::RankConfig config;       // without descriptors
  int listen_fd = -1;                // rank 0: where the ranks meet
  std::vector<int> processors = {};  // that it runs on; empty: all of this node's
  // Of its log; see LogFollower.
  std::optional<std::int64_t> kept_log_bytes = {};
};

class RankProcess {
 public:
  static Result<RankProcess> start(RankLaunch launch);

  int rank() const { return rank_; }
  int report_fd() const { return reports_.get(); }
  int pidfd() const { return process_.pidfd(); }
  const std::string& log_path() const { return log_path_; }

  // Every whole line that has arrived.
  std::vector<v1alpha1::RankReport> read_reports();
  // New whole lines of its log, not at every call; when it has ended, all.
  std::vector<std::string> read_log(bool has_ended, std::chrono::steady_clock::time_point now) {
    return log_.take(has_ended, now);
  }
  // Absent while it runs.
  std::optional<ExitStatus> ended() { return process_.try_wait(); }
  void command(const v1alpha1::RankCommand& command);
  void kill();
  bool killed() const { return killed_; }
  // How long it has been stopped by a signal, as far as calls of this function saw; zero while it runs.
  std::chrono::steady_clock::duration stopped_for(std::chrono::steady_clock::time_point now);

 private:
  RankProcess(int rank, Process process, Pipe pipes, std::string log_path,
              std::optional<std::int64_t> kept_log_bytes);

  int rank_;
  Process process_;
  UniqueFd reports_;
  UniqueFd commands_;
  std::string log_path_;
  LogFollower log_;
  LineReader lines_{kLongestReport};
  bool killed_ = false;
  std::optional<std::chrono::steady_clock::time_point> stopped_since_;
};

}  // namespace caravan::agent
