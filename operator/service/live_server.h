// The LiveMetrics service: how the steps of running jobs, and what of the nodes is free, reach the job
// service.
//
// Over mutual TLS: who shows no certificate of the authority for the name that callers have is not let in.
// Errors of start: an address in use or not ours, or bad PEM.
#pragma once

#include <memory>
#include <string>

#include "common/certificates.h"
#include "common/result.h"
#include "operator/steps/step_history.h"

namespace caravan::controller {

class PoolBoard;

// Common name of the certificate with which the job service comes.
inline constexpr char kLiveCaller[] = "caravan-service";

class LiveServer {
 public:
  struct Config {
    std::string listen;  // HOST:PORT, port 0: any
    KeyPair identity;
    std::string authority_pem;                         // of the callers
    std::size_t memory_bytes = std::size_t{64} << 20;  // of all messages and connections together
  };

  // Both outlive the server. pools: null where nodes are not read.
  static Result<std::unique_ptr<LiveServer>> start(Config config, StepHistory& history, PoolBoard* pools);
  // Ends every stream at once.
  virtual ~LiveServer() = default;
  virtual int port() const = 0;
};

}  // namespace caravan::controller
