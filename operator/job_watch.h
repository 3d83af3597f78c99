// What is known of jobs, from the API server and from those who report, and the queue of the jobs that have
// news.
//
// A standby fills its caches and collects no work: whoever leads begins with all jobs. Safe from several
// threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <string>
#include <vector>

#include "kube/queue/work_queue.h"
#include "operator/caches.h"
#include "operator/queue_positions.h"
#include "operator/queue_watch.h"
#include "operator/service/progress_board.h"
#include "operator/steps/step_history.h"

namespace caravan::controller {

class JobWatch {
 public:
  struct Config {
    std::string name_space = {};  // whose jobs are served; empty: all
    bool read_nodes = true;
    int workers = 1;  // of the leader; the jobs of one namespace keep half of them busy at most
  };

  // reader: a standby's, too. The references outlive it.
  JobWatch(kube::Client& reader, Clock& clock, kube::Observer& observer, const Config& config);

  // For a standby, too.
  void start() { caches_.start(); }

  // For the leader alone, once the caches are filled: all jobs are queued, and from then on those that
  // change.
  void take_up_work();
  void start_queues() { queues_.start(); }

  // Of everything that is watched; they live as long as this.
  Caches stores() const;
  std::vector<CacheState> cache_states() const;
  Clock::Duration stuck_for() const { return std::max(caches_.stuck_for(), queues_.stuck_for()); }
  // Adds the Workload's place in its queue.
  void add_position(const CallContext& context, const Job& job, QueueView& view);

  WatchedCaches& caches() { return caches_; }
  ProgressBoard& board() { return board_; }
  StepHistory& history() { return history_; }
  kube::WorkQueue& queue() { return queue_; }

 private:
  void on_change(const kube::ObjectKey& job);
  void look_at_all_jobs();

  kube::WorkQueue queue_;
  StepHistory history_;
  ProgressBoard board_;
  std::atomic<bool> leads_{false};
  WatchedCaches caches_;
  QueueWatch queues_;
  QueuePositions positions_;
};

}  // namespace caravan::controller
