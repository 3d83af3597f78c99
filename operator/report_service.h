// The report service of the operator that leads: its certificate and its server, which come and go with the
// lead while probes ask how it does.
//
// The certificate and who signed it are made anew by each process: running jobs learn of that through their
// plan, which agents read again.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "operator/service/cluster_report_server.h"
#include "operator/service/token_check.h"

namespace caravan::controller {

class ReportService {
 public:
  // The references outlive the service.
  ReportService(Clock& clock, ProgressBoard& board, TokenCheck& tokens,
                ClusterReportServer::Observer& observer)
      : clock_(clock), board_(board), tokens_(tokens), observer_(observer) {}

  // listen: HOST:PORT; address: HOST:PORT under which agents find it. Returns the certificate (PEM) of who
  // signed the server's.
  Result<std::string> start(const std::string& listen, const std::string& address);
  void stop();

  // How long the oldest authentication that runs has been running. Safe for any thread.
  Clock::Duration longest_review() const;

 private:
  Clock& clock_;
  ProgressBoard& board_;
  TokenCheck& tokens_;
  ClusterReportServer::Observer& observer_;
  mutable std::mutex mutex_;
  std::unique_ptr<ClusterReportServer> server_;
};

}  // namespace caravan::controller
