// Node 0's part of a job: the coordinator and where it reports to.
//
// A command to stop may arrive at any time, before the coordinator is there and while it goes. Errors of
// start: what the coordinator's are, and a file for its address that cannot be written.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "caravan/v1alpha1/plan.pb.h"
#include "worker/agent/coordinator_server.h"
#include "worker/agent/event_log.h"
#include "worker/agent/options.h"
#include "worker/agent/report_client.h"
#include "worker/agent/report_log.h"

namespace caravan::agent {

class Host {
 public:
  ~Host();

  Status start(const v1alpha1::JobPlan& job, const AgentOptions& options,
               const std::optional<TlsIdentity>& identity);
  const std::string& address() const { return server_->address(); }
  // Safe for any thread.
  void stop_job();
  void save_job(const std::string& request);
  // Before this node leaves a job that goes on: until what happened is told, but not for long.
  void tell_the_rest();
  // After the end of the job: until the others have heard of it, but not for long.
  void say_farewell();

 private:
  void tell(v1alpha1::JobReport report);

  std::optional<ReportLog> log_;
  std::optional<ResultFile> result_;
  std::optional<EventLog> events_;
  std::mutex mutex_;
  std::unique_ptr<CoordinatorServer> server_;
  // Before there is a coordinator, too.
  bool stop_asked_ = false;
  std::optional<std::string> save_asked_;
  std::unique_ptr<ReportClient> client_;  // calls stop_job until it is gone
};

}  // namespace caravan::agent
