// The operator's series, under the names that stock dashboards of controllers know, and those of its jobs
// (job_series.h). Safe for any thread.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "kube/client/observer.h"
#include "kube/watch/store.h"
#include "operator/cache_state.h"
#include "operator/job_ledger.h"

namespace caravan::controller {

class Metrics final : public kube::Observer {
 public:
  Metrics();
  ~Metrics() override;

  // Read when the text is made. What they refer to outlives this.
  struct Sources {
    const kube::Store* jobs = nullptr;
    const kube::Store* nodes = nullptr;  // null: nodes are not read
    std::function<std::map<std::string, JobLedger::Account>()> accounts;
    std::function<std::size_t()> queue_depth;
    std::function<double()> queue_oldest_seconds;
    std::function<bool()> is_leader;
    std::function<std::vector<CacheState>()> caches;
  };
  void set_sources(Sources sources);

  void on_request(std::string_view verb, int code) override;
  void on_clocks_compared(std::chrono::seconds ahead) override;
  void on_retry(const kube::ApiError& error, std::chrono::milliseconds wait) override;
  void on_relist(std::string_view plural) override;
  void on_watch_opened(std::string_view plural) override;
  void on_taken(std::chrono::nanoseconds waited) override;
  void on_reconcile_failed(const kube::ObjectKey& key, const std::string& message) override;
  void on_reconciled(kube::ReconcileEnd end, std::chrono::nanoseconds took,
                     std::chrono::nanoseconds cpu) override;
  void on_warning(const std::string& message) override;
  // A job was planned, and deciding on it took that long.
  void on_planned(std::chrono::nanoseconds took);
  // A reconcile was put off, since the caches had not seen our own last writes.
  void on_stale_cache();
  // A call of the report service ended; code: as gRPC names it, such as OK.
  void on_reports_handled(const std::string& code, std::chrono::nanoseconds took);
  // A report that cannot be true was not taken.
  void on_report_refused();
  // A stream of reports told faster than it is read.
  void on_reports_held_up();

  // The text format of Prometheus.
  std::string text() const;

 private:
  struct Series;
  std::unique_ptr<Series> series_;
};

}  // namespace caravan::controller
