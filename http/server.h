// A small HTTP/1.1 server, with TLS or without: short texts such as metrics and probes (http/texts.h), and
// whatever answers later or in a stream (http/exchange.h).
//
// One thread serves all connections at once, so that none that is idle or slow holds up another; what takes
// long in the handler does, so probes have a server of their own. Connections are kept alive. Whoever opens
// more than there may be, or more than this process has descriptors for, pushes out the oldest connection
// that waits for a request, or does not take its answer: the newest one, which may be a probe, is served.
// None that is being answered is pushed out. What requests and answers take together is bounded too: whoever
// holds most goes first. Errors of start: an address in use or not ours, exit code 2; what the system refuses
// (common/refusal.h).
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "common/result.h"
#include "http/exchange.h"
#include "http/limits.h"
#include "http/tls.h"

namespace caravan::http {

class Server {
 public:
  // host_port: as for listen_on() (common/listen.h). The server's thread calls handler and refuse. tls: null
  // for plain text.
  static Result<Server> start(const std::string& host_port, Handler handler, const Limits& limits = {},
                              std::shared_ptr<TlsContext> tls = nullptr, Refuse refuse = plain_refusal);

  Server(Server&&) noexcept;
  Server& operator=(Server&&) noexcept;
  // Closes every connection.
  ~Server();

  // For connections from now on.
  void renew(std::shared_ptr<TlsContext> tls);
  // Takes no new requests, ends the streams, and waits until all others are answered, for so long at most.
  void stop(std::chrono::milliseconds grace);

  // HOST:PORT, with the port that was chosen for port 0.
  const std::string& address() const { return address_; }

 private:
  class Loop;
  Server(std::string address, std::unique_ptr<Loop> loop);

  std::string address_;
  std::unique_ptr<Loop> loop_;
};

}  // namespace caravan::http
