// The operator's series, under the names that stock dashboards of controllers know, and those of its jobs.
//
// Series of jobs are made from the cache when they are read, so a deleted job has none. Safe for any thread.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "kube/client/observer.h"
#include "kube/watch/store.h"

namespace caravan::controller {

class Metrics final : public kube::Observer {
 public:
  Metrics();
  ~Metrics() override;

  // Read when the text is made. What they refer to outlives this.
  struct Sources {
    const kube::Store* jobs = nullptr;
    std::function<std::size_t()> queue_depth;
    std::function<double()> queue_oldest_seconds;
    std::function<bool()> is_leader;
  };
  void set_sources(Sources sources);

  void on_request(std::string_view verb, int code) override;
  void on_retry(const kube::ApiError& error, std::chrono::milliseconds wait) override;
  void on_relist(std::string_view plural) override;
  void on_watch_opened(std::string_view plural) override;
  void on_reconciled(kube::ReconcileEnd end, std::chrono::nanoseconds took) override;
  void on_warning(const std::string& message) override;

  // The text format of Prometheus.
  std::string text() const;

 private:
  struct Series;
  std::unique_ptr<Series> series_;
};

}  // namespace caravan::controller
