// What the report service does, in the operator's log and metrics. The log gets a few lines a second at most,
// however many strangers knock. Safe for any thread.
#pragma once

#include <mutex>

#include "operator/metrics.h"
#include "operator/service/cluster_report_server.h"
#include "serving/pace.h"

namespace caravan::controller {

class ReportWitness final : public ClusterReportServer::Observer {
 public:
  ReportWitness(Clock& clock, Metrics& metrics) : clock_(clock), metrics_(metrics) {}

  void on_handled(const std::string& code, std::chrono::nanoseconds took) override;
  void on_admitted(const Reporter& reporter) override;
  void on_refused(const Reporter& reporter, const std::string& why) override;
  void on_held_up() override;
  void on_warning(const std::string& message) override;

 private:
  bool may_log();

  Clock& clock_;
  Metrics& metrics_;
  std::mutex mutex_;
  Pace pace_{2, 50};
};

}  // namespace caravan::controller
