// The job service as JSON over HTTP, beside gRPC: the same methods behind the same gate, by the
// google.api.http options of the schema.
//
// Nothing of a request is read before the gate has let its caller in. No call has a thread of its own: the
// server's never waits, those of the gate do. Streams are server-sent events.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "common/result.h"
#include "http/limits.h"
#include "service/access/gate.h"
#include "service/audit.h"
#include "service/methods/methods.h"
#include "service/rpc/tls_files.h"

namespace caravan::service {

class JsonServer {
 public:
  struct Config {
    std::string listen;  // HOST:PORT, port 0: any
    TlsFiles tls;
    http::Limits limits = {
        .connections = 1024,
        .head_bytes = std::size_t{32} << 10,  // a token has 1 to 2 kB, with many groups more
        .body_bytes = std::size_t{1} << 20,
        .memory_bytes = std::size_t{256} << 20};
    std::size_t streams = 512;              // of all callers; the other connections are for other calls
    std::chrono::seconds longest_call{30};  // but for streams
  };
  // A call of that method ended with that code of gRPC after that time.
  using OnHandled = std::function<void(const std::string& method, int code, std::chrono::nanoseconds took)>;

  // The references outlive the server. Errors name the flag.
  static Result<std::unique_ptr<JsonServer>> start(Config config, Clock& clock, Gate& gate, Shares& shares,
                                                   Audit& audit, Methods& methods, OnHandled on_handled);
  // Takes no new calls, ends streams, and waits until no call is left: for that time, then they are told to
  // stop.
  virtual void stop(std::chrono::milliseconds grace) = 0;
  virtual ~JsonServer() = default;
  virtual const std::string& address() const = 0;
};

}  // namespace caravan::service
