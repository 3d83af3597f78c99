#include "kube/transport/connection.h"

#include <fmt/format.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/ssl/ssl_stream.hpp>
#include <thread>

#include "kube/transport/resolver.h"
#include "kube/transport/tls_context_asio.h"

namespace caravan::kube {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using asio::ip::tcp;
using boost::system::error_code;

constexpr std::size_t kReadSize = std::size_t{64} << 10;
constexpr std::uint32_t kLongestHead = 64 << 10;

// A silent peer is noticed after idle + count · interval = 60 s.
void set_socket_options(tcp::socket& socket) {
  error_code ignored;
  socket.set_option(tcp::no_delay(true), ignored);
  socket.set_option(asio::socket_base::keep_alive(true), ignored);
  const auto set = [&](int option, int value) {
    ::setsockopt(socket.native_handle(), IPPROTO_TCP, option, &value, sizeof(value));
  };
  set(TCP_KEEPIDLE, 30);
  set(TCP_KEEPINTVL, 10);
  set(TCP_KEEPCNT, 3);
}

// Of an address that does not answer, after 3 s instead of two minutes: another one is to be asked.
void give_up_early(tcp::socket& socket) {
  const int repetitions = 1;
  ::setsockopt(socket.native_handle(), IPPROTO_TCP, TCP_SYNCNT, &repetitions, sizeof(repetitions));
}

class TlsConnection final : public Connection, public std::enable_shared_from_this<TlsConnection> {
 public:
  TlsConnection(asio::io_context& loop, Resolver& resolver, Peer peer, std::shared_ptr<TlsContext> tls)
      : peer_(std::move(peer)),
        tls_(std::move(tls)),
        loop_(loop),
        resolver_(resolver),
        stream_(loop, tls_->context) {}

  void connect(Completion<bool> done) override {
    asio::post(loop_, [self = shared_from_this(), done = std::move(done)]() mutable {
      if (self->closed_) return done(closed_error());
      self->resolve(std::move(done));
    });
  }

  void send(HttpRequest request, Completion<HttpHead> done) override {
    asio::post(loop_,
               [self = shared_from_this(), request = std::move(request), done = std::move(done)]() mutable {
                 if (self->closed_) return done(closed_error());
                 self->write_request(std::move(request), std::move(done));
               });
  }

  void read_some(Completion<std::string> done) override {
    asio::post(loop_, [self = shared_from_this(), done = std::move(done)]() mutable {
      if (self->closed_) return done(closed_error());
      self->read_body(std::move(done));
    });
  }

  void close() override {
    asio::post(loop_, [self = shared_from_this()] {
      self->closed_ = true;
      error_code ignored;
      self->socket().close(ignored);
    });
  }

  bool reusable() const override {
    if (!parser_ || !parser_->is_done() || !parser_->get().keep_alive() || failed_) return false;
    // Bytes that nobody asked for, or the end of the stream: the server has given up on this connection.
    char byte = 0;
    const auto got =
        ::recv(const_cast<TlsConnection*>(this)->socket().native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
  }

 private:
  using Body = http::buffer_body;

  static tl::unexpected<ApiError> closed_error() {
    return api_failure(ErrorKind::kBroken, "the connection was closed");
  }

  tcp::socket& socket() { return beast::get_lowest_layer(stream_); }

  // Whom the socket is connected to.
  const Endpoint& first() const { return peer_.proxy ? *peer_.proxy : peer_.server; }

  tl::unexpected<ApiError> cannot_connect(std::string_view step, const std::string& why) const {
    return api_failure(ErrorKind::kUnreachable,
                       fmt::format("cannot {} {}: {}", step, to_string(first()), why));
  }

  tl::unexpected<ApiError> broken(const error_code& error) {
    failed_ = true;
    return api_failure(ErrorKind::kBroken, fmt::format("the connection broke: {}", error.message()));
  }

  void resolve(Completion<bool> done) {
    resolver_.resolve(first(), [self = shared_from_this(),
                                done = std::move(done)](const Result<Resolver::Addresses>& addresses) {
      if (self->closed_) return done(closed_error());
      if (!addresses) return done(self->cannot_connect("resolve", addresses.error().message));
      self->addresses_ = *addresses;
      self->open_socket(0, done);
    });
  }

  // To that one of the addresses, or to the first behind it that answers.
  void open_socket(std::size_t number, Completion<bool> done) {
    const bool is_last = number + 1 == addresses_.size();
    error_code told_by_connecting;
    socket().close(told_by_connecting);
    socket().open(addresses_[number].protocol(), told_by_connecting);
    if (!is_last) give_up_early(socket());
    socket().async_connect(addresses_[number], [self = shared_from_this(), number, is_last,
                                                done = std::move(done)](error_code error) mutable {
      if (self->closed_) return done(closed_error());
      if (error && !is_last) return self->open_socket(number + 1, std::move(done));
      if (error) return done(self->cannot_connect("connect to", error.message()));
      set_socket_options(self->socket());
      if (self->peer_.proxy) return self->ask_proxy(std::move(done));
      self->shake_hands(std::move(done));
    });
  }

  void ask_proxy(Completion<bool> done) {
    const std::string target = to_string(peer_.server);
    proxy_request_ = {http::verb::connect, target, 11};
    proxy_request_.set(http::field::host, target);
    http::async_write(
        socket(), proxy_request_,
        [self = shared_from_this(), done = std::move(done)](error_code error, std::size_t) mutable {
          if (error) return done(self->cannot_connect("ask the proxy", error.message()));
          self->read_proxy_answer(std::move(done));
        });
  }

  void read_proxy_answer(Completion<bool> done) {
    proxy_parser_.emplace();
    proxy_parser_->skip(true);  // the answer to CONNECT has no body
    http::async_read_header(
        socket(), buffer_, *proxy_parser_,
        [self = shared_from_this(), done = std::move(done)](error_code error, std::size_t) mutable {
          if (error) return done(self->cannot_connect("read the answer of the proxy", error.message()));
          const auto& answer = self->proxy_parser_->get();
          if (answer.result() != http::status::ok) {
            return done(api_failure(
                ErrorKind::kUnreachable,
                fmt::format("the proxy {} refused the connection: {} {}", to_string(*self->peer_.proxy),
                            answer.result_int(), std::string(answer.reason()))));
          }
          self->shake_hands(std::move(done));
        });
  }

  void shake_hands(Completion<bool> done) {
    if (!expect(verified_name()))
      return done(
          untrusted(fmt::format("for '{}', which is neither a name nor an address", verified_name())));
    stream_.async_handshake(asio::ssl::stream_base::client,
                            [self = shared_from_this(), done = std::move(done)](error_code error) mutable {
                              if (error) return done(self->no_handshake(error));
                              done(true);
                            });
  }

  const std::string& verified_name() const {
    return peer_.verified_name.empty() ? peer_.server.host : peer_.verified_name;
  }

  // The certificate has to be for that. False: OpenSSL takes it for neither a name nor an address.
  bool expect(const std::string& name) {
    SSL* const tls = stream_.native_handle();
    error_code not_an_address;
    asio::ip::make_address(name, not_an_address);
    // Server name indication is for names only (RFC 6066, section 3).
    if (not_an_address) SSL_set_tlsext_host_name(tls, name.c_str());
    return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(tls), name.c_str()) == 1 ||
           SSL_set1_host(tls, name.c_str()) == 1;
  }

  tl::unexpected<ApiError> no_handshake(const error_code& error) {
    SSL* const tls = stream_.native_handle();
    const long verdict = SSL_get_verify_result(tls);
    // There is a verdict also where nobody goes by it.
    if (verdict == X509_V_OK || SSL_get_verify_mode(tls) == SSL_VERIFY_NONE)
      return cannot_connect("do TLS with", error.message());
    if (verdict == X509_V_ERR_HOSTNAME_MISMATCH || verdict == X509_V_ERR_IP_ADDRESS_MISMATCH) {
      return untrusted(
          fmt::format("for {}: set tls-server-name of the cluster in the kubeconfig to a name that it is for",
                      verified_name()));
    }
    return untrusted(fmt::format("trusted: {}", X509_verify_cert_error_string(verdict)));
  }

  tl::unexpected<ApiError> untrusted(const std::string& what_it_is_not) const {
    return api_failure(ErrorKind::kUntrusted, fmt::format("the certificate of {} is not {}",
                                                          to_string(peer_.server), what_it_is_not));
  }

  void write_request(HttpRequest request, Completion<HttpHead> done) {
    request_ = {};
    request_.version(11);
    request_.method_string(request.method);
    request_.target(request.target);
    request_.set(http::field::host, to_string(peer_.server));
    for (const auto& [name, value] : request.headers) request_.set(name, value);
    request_.body() = std::move(request.body);
    request_.prepare_payload();
    if (request.may_be_sent && !request.may_be_sent()) {
      return done(api_failure(ErrorKind::kRefusedHere, "not the leader any more; the request was not sent"));
    }
    http::async_write(
        stream_, request_,
        [self = shared_from_this(), done = std::move(done)](error_code error, std::size_t) mutable {
          if (error) return done(self->broken(error));
          self->read_head(std::move(done));
        });
  }

  void read_head(Completion<HttpHead> done) {
    parser_.emplace();
    parser_->body_limit(boost::none);  // by default a watch would end after 8 MiB
    parser_->header_limit(kLongestHead);
    http::async_read_header(
        stream_, buffer_, *parser_,
        [self = shared_from_this(), done = std::move(done)](error_code error, std::size_t) {
          if (error) return done(self->broken(error));
          HttpHead head{.status = static_cast<int>(self->parser_->get().result_int())};
          for (const auto& field : self->parser_->get()) {
            head.headers.emplace_back(field.name_string(), field.value());
          }
          done(std::move(head));
        });
  }

  void read_body(Completion<std::string> done) {
    if (parser_->is_done()) return done(std::string{});
    chunk_.resize(kReadSize);
    auto& body = parser_->get().body();
    body.data = chunk_.data();
    body.size = chunk_.size();
    http::async_read_some(
        stream_, buffer_, *parser_,
        [self = shared_from_this(), done = std::move(done)](error_code error, std::size_t) mutable {
          self->take_chunk(error, std::move(done));
        });
  }

  void take_chunk(error_code error, Completion<std::string> done) {
    if (error == http::error::need_buffer) error = {};
    const std::size_t got = chunk_.size() - parser_->get().body().size;
    if (error) return done(broken(error));
    if (got > 0) return done(chunk_.substr(0, got));
    read_body(std::move(done));  // only framing came
  }

  Peer peer_;
  std::shared_ptr<TlsContext> tls_;
  asio::io_context& loop_;
  Resolver& resolver_;
  Resolver::Addresses addresses_;
  beast::ssl_stream<tcp::socket> stream_;
  beast::flat_buffer buffer_;
  std::string chunk_;
  http::request<http::string_body> request_;
  std::optional<http::response_parser<Body>> parser_;
  http::request<http::empty_body> proxy_request_;
  std::optional<http::response_parser<http::empty_body>> proxy_parser_;
  bool closed_ = false;
  bool failed_ = false;
};

}  // namespace

struct Network::Loop {
  asio::io_context context{1};
  asio::executor_work_guard<asio::io_context::executor_type> work = asio::make_work_guard(context);
  Resolver resolver{context};
  std::jthread thread{[this] { context.run(); }};
};

Network::Network() : loop_(std::make_unique<Loop>()) {}

Network::~Network() {
  loop_->context.stop();
}

std::shared_ptr<Connection> Network::make_connection(const Peer& peer, std::shared_ptr<TlsContext> tls) {
  return std::make_shared<TlsConnection>(loop_->context, loop_->resolver, peer, std::move(tls));
}

}  // namespace caravan::kube
