#include "tests/kube/fault_server.h"

#include <fmt/format.h>
#include <sys/socket.h>

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <list>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <thread>

namespace caravan::kube::testing {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using asio::ip::tcp;
using boost::system::error_code;
using Stream = asio::ssl::stream<tcp::socket&>;

KeyPair must(Result<KeyPair> made) {
  if (!made) throw std::runtime_error(made.error().message);
  return std::move(*made);
}

// Thrown when the connection is gone: the script of the request need not care.
struct ConnectionGone {};

class TlsExchange final : public Exchange {
 public:
  TlsExchange(Stream& stream, tcp::socket& socket, Received request)
      : stream_(stream), socket_(socket), request_(std::move(request)) {}

  const Received& request() const override { return request_; }

  void reply(int status, const std::string& body, const Headers& headers) override {
    std::string head =
        fmt::format("HTTP/1.1 {} Scripted\r\nContent-Type: application/json\r\nContent-Length: {}\r\n",
                    status, body.size());
    for (const auto& [name, value] : headers) head += fmt::format("{}: {}\r\n", name, value);
    write(head + "\r\n" + body);
  }

  void begin_stream() override {
    write("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n");
  }
  void chunk(std::string_view bytes) override { write(fmt::format("{:x}\r\n{}\r\n", bytes.size(), bytes)); }
  void end_stream() override { write("0\r\n\r\n"); }

  void end() override {
    error_code ignored;
    socket_.shutdown(tcp::socket::shutdown_both, ignored);
  }

  [[noreturn]] void drop() override {
    end();
    throw ConnectionGone{};
  }

  [[noreturn]] void hang() override {
    error_code error;
    char byte = 0;
    while (!error) stream_.read_some(asio::buffer(&byte, 1), error);
    throw ConnectionGone{};
  }

 private:
  void write(const std::string& bytes) {
    error_code error;
    asio::write(stream_, asio::buffer(bytes), error);
    if (error) throw ConnectionGone{};
  }

  Stream& stream_;
  tcp::socket& socket_;
  Received request_;
};

Received received(const http::request<http::string_body>& request) {
  const std::string target(request.target());
  const std::size_t question = std::min(target.find('?'), target.size());
  Received plain{.method = std::string(request.method_string()),
                 .path = target.substr(0, question),
                 .query = target.substr(std::min(question + 1, target.size())),
                 .headers = {},
                 .body = request.body()};
  for (const auto& field : request) plain.headers.emplace_back(field.name_string(), field.value());
  return plain;
}

}  // namespace

class FaultServer::Listener {
 public:
  Listener(Script script, const KeyPair& own, const Options& options)
      : script_(std::move(script)), acceptor_(io_, {asio::ip::address_v4::loopback(), 0}) {
    tls_.use_certificate_chain(asio::buffer(own.certificate_pem));
    tls_.use_private_key(asio::buffer(own.key_pem), asio::ssl::context::pem);
    if (!options.has_tls_1_3) tls_.set_options(asio::ssl::context::no_tlsv1_3);
    if (!options.client_authority_pem.empty()) {
      tls_.add_certificate_authority(asio::buffer(options.client_authority_pem));
      tls_.set_verify_mode(asio::ssl::verify_peer | asio::ssl::verify_fail_if_no_peer_cert);
    }
    port_ = acceptor_.local_endpoint().port();
    accepting_ = std::jthread([this] { accept(); });
  }

  ~Listener() {
    stopping_ = true;
    ::shutdown(acceptor_.native_handle(), SHUT_RDWR);
    accepting_.join();
    const std::lock_guard guard(mutex_);
    for (Peer& peer : peers_) ::shutdown(peer.handle, SHUT_RDWR);
  }

  int port() const { return port_; }

  std::vector<Received> requests() const {
    const std::lock_guard guard(mutex_);
    return requests_;
  }

  int connections() const {
    const std::lock_guard guard(mutex_);
    return static_cast<int>(peers_.size());
  }

 private:
  struct Peer {
    explicit Peer(tcp::socket accepted) : socket(std::move(accepted)), handle(socket.native_handle()) {}
    tcp::socket socket;
    int handle;
    std::jthread thread;  // joins before the socket goes
  };

  void accept() {
    while (!stopping_) {
      error_code error;
      tcp::socket socket = acceptor_.accept(error);
      if (error) return;
      socket.set_option(tcp::no_delay(true));
      const std::lock_guard guard(mutex_);
      Peer& peer = peers_.emplace_back(std::move(socket));
      peer.thread = std::jthread([this, &peer] { serve(peer.socket); });
    }
  }

  void serve(tcp::socket& socket) {
    Stream stream(socket, tls_);
    error_code error;
    stream.handshake(asio::ssl::stream_base::server, error);
    boost::beast::flat_buffer buffer;
    while (!error) {
      http::request<http::string_body> request;
      http::read(stream, buffer, request, error);
      if (error) break;
      TlsExchange exchange(stream, socket, received(request));
      {
        const std::lock_guard guard(mutex_);
        requests_.push_back(exchange.request());
      }
      try {
        script_(exchange);
      } catch (const ConnectionGone&) {
        break;
      }
    }
    socket.shutdown(tcp::socket::shutdown_both, error);
  }

  Script script_;
  asio::io_context io_;
  asio::ssl::context tls_{asio::ssl::context::tls_server};
  tcp::acceptor acceptor_;
  int port_ = 0;
  std::atomic<bool> stopping_{false};
  mutable std::mutex mutex_;
  std::vector<Received> requests_;
  std::list<Peer> peers_;
  std::jthread accepting_;
};

FaultServer::FaultServer(Script script, const Options& options)
    : authority_(must(make_authority("fault server authority", std::chrono::hours(1)))) {
  CertificateRequest request{.common_name = "fault server", .dns_names = {options.certificate_name}};
  if (options.certificate_for_loopback) request.addresses = {"127.0.0.1"};
  const KeyPair own = must(issue_certificate(authority_, request));
  certificate_pem_ = own.certificate_pem;
  listener_ = std::make_unique<Listener>(std::move(script), own, options);
}

FaultServer::~FaultServer() = default;

int FaultServer::port() const {
  return listener_->port();
}

std::vector<Received> FaultServer::requests() const {
  return listener_->requests();
}

int FaultServer::connections() const {
  return listener_->connections();
}

Script in_turn(std::vector<Script> scripts) {
  auto next = std::make_shared<std::atomic<std::size_t>>(0);
  return [scripts = std::move(scripts), next](Exchange& exchange) {
    scripts[std::min((*next)++, scripts.size() - 1)](exchange);
  };
}

Script reply_with(int status, std::string body, Headers headers) {
  return [=](Exchange& exchange) { exchange.reply(status, body, headers); };
}

std::string status_json(int code, const std::string& reason, const std::string& message) {
  return fmt::format(
      R"({{"kind":"Status","apiVersion":"v1","status":"Failure","code":{},"reason":"{}","message":"{}"}})",
      code, reason, message);
}

Script without_field(const std::string& field) {
  return [field](Exchange& exchange) {
    const bool is_strict = exchange.request().query.find("fieldValidation=Strict") != std::string::npos;
    if (!is_strict) return exchange.reply(201, exchange.request().body);
    exchange.reply(400, status_json(400, "BadRequest",
                                    fmt::format(R"(strict decoding error: unknown field \"{}\")", field)));
  };
}

}  // namespace caravan::kube::testing
