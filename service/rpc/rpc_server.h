// The job service over gRPC: TLS, limits, and the methods behind the gate.
//
// No call has a thread of its own: gRPC's never wait, those of the gate do, a bounded number of them. Errors
// have a google.rpc.Status. Health and reflection are served too, to anybody; of reflection about thirty
// streams at once, whose threads also answer calls of unknown methods.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "common/result.h"
#include "service/access/gate.h"
#include "service/audit.h"
#include "service/methods/methods.h"
#include "service/rpc/tls_files.h"

namespace caravan::service {

class RpcServer {
 public:
  struct Limits {
    int message_bytes = 1 << 20;
    std::size_t memory_bytes = std::size_t{256} << 20;  // of all messages and connections together
    int streams_of_a_connection = 128;
    std::chrono::seconds longest_call{30};  // but for streams
  };
  struct Config {
    std::string listen;  // HOST:PORT, port 0: any
    TlsFiles tls;
    Limits limits = {};
  };
  // A call ended with that status (as gRPC names it) after that time.
  using OnHandled = std::function<void(const std::string& method, int code, std::chrono::nanoseconds took)>;

  // The references outlive the server.
  static Result<std::unique_ptr<RpcServer>> start(Config config, Clock& clock, Gate& gate, Shares& shares,
                                                  Audit& audit, Methods& methods, OnHandled on_handled);
  // Takes no new calls, and ends those that have not ended within that time.
  virtual void stop(std::chrono::milliseconds grace) = 0;
  virtual ~RpcServer() = default;
  virtual int port() const = 0;
  // Whether this replica wants calls: what the health service says.
  virtual void set_serving(bool serving) = 0;
};

}  // namespace caravan::service
