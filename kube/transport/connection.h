// One TLS connection to the API server, asynchronous, and the thread that drives all of them.
//
// Completions run on the thread of the Network and must not block; each is called once. A connection does one
// thing at a time. close() may be called from any thread at any time and makes what is pending fail, the
// look-up of a name when its answer is there.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "kube/api/api_error.h"
#include "kube/config/client_config.h"
#include "kube/transport/http.h"
#include "kube/transport/tls_context.h"

namespace caravan::kube {

template <typename T>
using Completion = std::function<void(ApiResult<T>)>;

struct Peer {
  Endpoint server;
  std::optional<Endpoint> proxy = {};  // asked to CONNECT to the server
  std::string verified_name = {};      // empty: the host of the server
};

inline Peer peer_of(const ClientConfig& config) {
  return {.server = config.server, .proxy = config.proxy, .verified_name = config.tls_server_name};
}

class Connection {
 public:
  virtual ~Connection() = default;

  virtual void connect(Completion<bool> done) = 0;
  // Sends a request and reads the head of its answer.
  virtual void send(HttpRequest request, Completion<HttpHead> done) = 0;
  // Some bytes of the body; empty when it has ended.
  virtual void read_some(Completion<std::string> done) = 0;
  virtual void close() = 0;

  // Between two exchanges: whether another one may follow. A server that has closed its end meanwhile is
  // noticed.
  virtual bool reusable() const = 0;
};

class Network {
 public:
  Network();
  // Nothing may be pending any more but look-ups of connections that are closed.
  ~Network();
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;

  std::shared_ptr<Connection> make_connection(const Peer& peer, std::shared_ptr<TlsContext> tls);

 private:
  struct Loop;
  std::unique_ptr<Loop> loop_;
};

}  // namespace caravan::kube
