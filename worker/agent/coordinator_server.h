// The coordinator as a gRPC service with one thread: streams in, decisions by CoordinatorState, streams out.
//
// Errors of start: an address in use or not ours, exit code 2.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "common/result.h"
#include "worker/agent/coordinator_state.h"
#include "worker/agent/tls.h"

namespace caravan::agent {

class CoordinatorServer {
 public:
  struct Endpoint {
    std::string listen;  // HOST:PORT (port 0: any) or unix:PATH
    // Agents must show one of the same authority for the node that they say they are; absent: no TLS.
    std::optional<TlsIdentity> identity = {};
  };
  // `on_report` gets what the job's report service is told, in order, on the server's thread. `read_limits`,
  // where there is one, is asked every few seconds on the server's thread; an error leaves the limits as they
  // are.
  using OnReport = std::function<void(v1alpha1::JobReport report)>;
  using ReadLimits = std::function<Result<Limits>()>;
  static Result<std::unique_ptr<CoordinatorServer>> start(const CoordinatorConfig& config,
                                                          const Endpoint& endpoint, OnReport on_report,
                                                          ReadLimits read_limits = nullptr);
  virtual ~CoordinatorServer() = default;

  // Where agents reach it.
  virtual const std::string& address() const = 0;
  // The first stops the job after the step that runs, the second at once.
  virtual void request_stop() = 0;
  // A checkpoint after the step that runs; see SaveWish.
  virtual void request_save(const std::string& request) = 0;
  // After the end of the job: until every agent has gone, at most `patience`.
  virtual void wait_for_agents(std::chrono::milliseconds patience) = 0;
};

}  // namespace caravan::agent
