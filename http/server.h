// A small HTTP/1.1 server for GET and HEAD of short texts, such as metrics and probes.
//
// One thread serves all connections at once, so that none that is idle or slow holds up another; what takes
// long in the handler does, so probes have a server of their own. Connections are kept alive. Whoever opens
// more than there may be, or more than this process has descriptors for, pushes out the oldest connection
// that waits for a request: the newest one, which may be a probe, is served. Errors of start: an address in
// use or not ours, exit code 2; what the system refuses (common/refusal.h).
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "common/result.h"
#include "http/answer.h"

namespace caravan::http {

struct Limits {
  std::size_t connections = 64;
  std::size_t head_bytes = 8192;
  std::chrono::milliseconds head_time{5'000};     // from the first byte, or the connection, to the last byte
  std::chrono::milliseconds idle_time{90'000};    // between two requests; Prometheus scrapes once a minute
  std::chrono::milliseconds answer_time{15'000};  // until all of an answer is taken
};

class Server {
 public:
  // host_port: as for listen_on() (common/listen.h). The server's thread calls the handler.
  static Result<Server> start(const std::string& host_port, Handler handler, const Limits& limits = {});

  Server(Server&&) noexcept;
  Server& operator=(Server&&) noexcept;
  // Closes every connection.
  ~Server();

  // HOST:PORT, with the port that was chosen for port 0.
  const std::string& address() const { return address_; }

 private:
  class Loop;
  Server(std::string address, std::unique_ptr<Loop> loop);

  std::string address_;
  std::unique_ptr<Loop> loop_;
};

}  // namespace caravan::http
