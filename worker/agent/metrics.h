// The series of this node's /metrics, fed by what its ranks report.
//
// Counters go on over restarts of the gang. At most 25 series carry a rank's label; collectives, of which
// there may be many kinds, are added up over the node. What is unknown (a device's peak, its memory) has no
// series. Safe for any thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "caravan/v1alpha1/coordination.pb.h"
#include "planner/job_shape.h"
#include "worker/agent/gpu_monitor.h"

namespace caravan::agent {

class Metrics {
 public:
  // local: nobody else labels the series with the job.
  Metrics(const v1alpha1::JobPlan& job, int node, bool local);
  ~Metrics();

  void observe(const v1alpha1::RankUpdate& update);
  void observe(const v1alpha1::RankExit& exit);
  void observe(const v1alpha1::RankSlowdowns& slowdowns);
  void observe(const std::vector<GpuState>& gpus);  // all that are told now
  // The text format of Prometheus.
  std::string text() const;

 private:
  struct Series;
  std::unique_ptr<Series> series_;
};

}  // namespace caravan::agent
