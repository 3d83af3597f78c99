// An HTTPS server on loopback that does to each request what a script says, mostly wrong things.
//
// Every connection has a thread, on which the scripts of its requests run. The server ends when it is
// destroyed: scripts that hang return then.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/certificates.h"
#include "kube/transport/http.h"

namespace caravan::kube::testing {

struct Received {
  std::string method;
  std::string path;
  std::string query;  // decoded enough for tests: as sent
  Headers headers;
  std::string body;
};

// One request and the means to answer it.
class Exchange {
 public:
  virtual ~Exchange() = default;
  virtual const Received& request() const = 0;

  virtual void reply(int status, const std::string& body, const Headers& headers = {}) = 0;
  // A body in chunks, as the server sends watches. Each chunk goes out in a TLS record of its own.
  virtual void begin_stream() = 0;
  virtual void chunk(std::string_view bytes) = 0;
  virtual void end_stream() = 0;
  // Ends the TCP connection without a TLS goodbye: end() returns, drop() leaves the script.
  virtual void end() = 0;
  [[noreturn]] virtual void drop() = 0;
  // Says nothing more until the client goes or the server ends.
  [[noreturn]] virtual void hang() = 0;
};

using Script = std::function<void(Exchange&)>;

// Scripts for the first, second, ... request; the last one stays.
Script in_turn(std::vector<Script> scripts);
Script reply_with(int status, std::string body, Headers headers = {});
// A Status object as the API server writes it.
std::string status_json(int code, const std::string& reason, const std::string& message = "scripted");
// A server whose schema lacks that field of what is created: it refuses or drops it, as it is asked to.
Script without_field(const std::string& field);

class FaultServer {
 public:
  struct Options {
    std::string certificate_name = "localhost";  // besides 127.0.0.1
    bool certificate_for_loopback = true;
    std::string client_authority_pem = {};  // when given, clients must show a certificate
    bool has_tls_1_3 = true;                // without it, who shows none has no handshake
  };

  explicit FaultServer(Script script) : FaultServer(std::move(script), Options{}) {}
  FaultServer(Script script, const Options& options);
  ~FaultServer();

  int port() const;
  const KeyPair& authority() const { return authority_; }
  const std::string& certificate_pem() const { return certificate_pem_; }  // its own
  std::vector<Received> requests() const;
  int connections() const;

 private:
  class Listener;
  KeyPair authority_;
  std::string certificate_pem_;
  std::unique_ptr<Listener> listener_;
};

}  // namespace caravan::kube::testing
