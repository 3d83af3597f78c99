// A small HTTP/1.1 server for GET and HEAD of short texts, such as metrics.
//
// One request per connection, one connection at a time; a client gets two seconds for a request of at most 8
// KiB, so that none holds up the next for long. Errors of start: an address in use or not ours, exit code 2.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "common/result.h"
#include "common/unique_fd.h"

namespace caravan {

struct HttpReply {
  std::string content_type;
  std::string body;
  std::string status = "200 OK";
};

// The reply for a path, without its query; absent: not found. Called by the server's thread.
using HttpHandler = std::function<std::optional<HttpReply>(std::string_view path)>;

// What goes over the wire for a request's head. Pure.
std::string answer_http(std::string_view head, const HttpHandler& handler);

class HttpServer {
 public:
  static Result<HttpServer> start(const std::string& host_port, HttpHandler handler);

  HttpServer(HttpServer&&) = default;
  HttpServer& operator=(HttpServer&&) = default;
  ~HttpServer();

  // HOST:PORT, with the port that was chosen for port 0.
  const std::string& address() const { return address_; }

 private:
  HttpServer() = default;

  std::string address_;
  UniqueFd stop_event_;
  std::jthread thread_;
};

}  // namespace caravan
