// The ranks of this node: starts those of an attempt, tells what they report and how they end, kills them.
//
// Must be used by one thread, which lives as long as the program (see common/process.h). A rank that cannot
// be started is told as one that ended at once. Ranks killed by `stop` are not told: nobody needs to know.
#pragma once

#include <poll.h>

#include <chrono>
#include <deque>
#include <filesystem>
#include <map>
#include <set>
#include <vector>

#include "caravan/v1alpha1/coordination.pb.h"
#include "planner/job_shape.h"
#include "worker/agent/rank_config.h"
#include "worker/agent/rank_process.h"

namespace caravan::agent {

struct SupervisorConfig {
  v1alpha1::JobPlan job;
  int node = 0;
  std::string trainer;
  std::filesystem::path directory;  // of this node's attempts
  RankSettings ranks;
  std::vector<std::vector<int>> processors = {};  // of each rank, see pinning.h; empty: all share all
  // Of logs the ends stay, and those of the last attempts: as in a pod, which has little room.
  bool trims_logs = false;
};

struct RankLogLine {
  int rank = 0;
  std::string text;
};

struct RankNews {
  std::vector<RankLogLine> log;
  std::vector<v1alpha1::RankUpdate> updates;
  std::vector<v1alpha1::RankExit> exits;
};

class Supervisor {
 public:
  explicit Supervisor(SupervisorConfig config)
      : config_(std::move(config)), shape_(planner::shape_of(config_.job)) {}

  // listen_fd: where the ranks meet, on node 0. No rank of an earlier attempt may be left.
  void start(const Master& master, UniqueFd listen_fd);
  void command(const v1alpha1::RankCommand& command);
  void stop();
  // A rank that is stopped (SIGSTOP) for this long says nothing and holds up all others: it is killed, and
  // told as dead.
  void end_silent_ranks(std::chrono::steady_clock::time_point now, std::chrono::duration<double> patience);
  bool idle() const { return ranks_.empty(); }

  // What to wait for, before `collect` can have news.
  void watch(std::vector<pollfd>& descriptors) const;
  RankNews collect();

 private:
  Result<std::filesystem::path> make_folder();
  Result<RankProcess> start_rank(int rank, const Master& master, int listen_fd,
                                 const std::filesystem::path& folder) const;
  v1alpha1::RankExit describe_exit(RankProcess& rank, const ExitStatus& status);

  SupervisorConfig config_;
  planner::JobShape shape_;
  int attempt_ = 0;
  std::deque<std::filesystem::path> kept_folders_;  // of attempts, where logs are trimmed
  std::vector<RankProcess> ranks_;
  std::vector<v1alpha1::RankExit> failed_starts_;
  std::set<int> silent_;                             // ranks that were killed for being silent
  std::map<int, v1alpha1::RankFailure> last_words_;  // by rank
  std::int64_t oom_kills_ = 0;                       // before the attempt
};

}  // namespace caravan::agent
