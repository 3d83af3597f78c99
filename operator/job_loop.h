// Looks after the jobs while this process leads: reconciles those in the queue, and tells what was decided as
// events, log lines and metrics.
//
// Runs from its construction to its destruction, which ends the contexts of the reconciles that run and
// returns when they have. Everything is listed anew first, and nothing is decided before the caches are
// filled. When they are not in time, it gives up.
#pragma once

#include <chrono>
#include <thread>

#include "common/result.h"
#include "common/unique_fd.h"
#include "kube/events/event_recorder.h"
#include "kube/queue/reconcile_loop.h"
#include "operator/controller/reconciler.h"
#include "operator/job_ledger.h"
#include "operator/job_watch.h"
#include "operator/metrics.h"

namespace caravan::controller {

class JobLoop {
 public:
  struct Config {
    Settings settings;
    int workers;
    std::chrono::seconds cache_sync;  // it gives up when nothing came to fill the caches for that long
  };

  // client: writes with the lease only. The references outlive it.
  JobLoop(JobWatch& jobs, kube::Client& client, Clock& clock, Metrics& metrics, JobLedger& ledger,
          kube::EventRecorder& events, Config config);

  // Readable once it has given up.
  int gave_up_fd() const { return gave_up_.get(); }
  // Why it has.
  Status caches_missing() const;

 private:
  Reconciler::Outside outside_of_the_reconciler();
  void tell(const Job& job, const Note& note);
  void begin(const std::stop_token& stop);

  JobWatch& jobs_;
  Clock& clock_;
  Metrics& metrics_;
  JobLedger& ledger_;
  kube::EventRecorder& events_;
  const std::chrono::seconds cache_sync_;
  Reconciler reconciler_;
  kube::ReconcileLoop loop_;
  UniqueFd gave_up_;
  std::jthread starter_;
};

}  // namespace caravan::controller
