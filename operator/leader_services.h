// What the operator that leads serves: reports are taken from agents, the job service hears of training and
// of what is free, and its certificate is kept.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "operator/job_watch.h"
#include "operator/metrics.h"
#include "operator/report_service.h"
#include "operator/report_witness.h"
#include "operator/service/live_server.h"
#include "operator/service/pool_board.h"
#include "operator/service/token_check.h"
#include "operator/service_certificate.h"

namespace caravan::controller {

class LeaderServices {
 public:
  struct Config {
    std::string name_space;                       // the operator's own, for the certificate
    std::string reports_listen;                   // HOST:PORT
    std::string reports_address = {};             // where agents find it; empty: they do not report
    std::string live_listen = {};                 // HOST:PORT; empty: the job service hears nothing
    std::vector<std::string> service_names = {};  // of the job service; none: callers get no certificate
    bool read_nodes = true;                       // else nobody hears of what is free
  };

  // client: writes with the lease only. The references outlive it.
  LeaderServices(kube::Client& client, Clock& clock, Metrics& metrics, JobWatch& jobs, Config config);

  // The certificate (PEM) of who signed that of the reports' server; empty when agents do not report.
  Result<std::string> start();
  // What needs the lease, so before it is given back: the certificate, and what is told under it.
  void stop_live();
  // Ends every stream at once.
  void stop_reports();

  // How long the oldest review of a token that runs has been running. Safe for any thread.
  Clock::Duration longest_review() const { return reports_.longest_review(); }

 private:
  // From now on with a certificate of that authority, which also signs the job service's.
  Status start_live(const KeyPair& authority);

  const Config config_;
  StepHistory& history_;
  TokenCheck tokens_;
  PoolBoard pools_;
  std::unique_ptr<LiveServer> live_;  // belongs to the thread of certificate_ while that runs
  ServiceCertificate certificate_;
  ReportWitness witness_;
  ReportService reports_;
};

}  // namespace caravan::controller
