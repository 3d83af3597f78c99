// A connection's bytes, with TLS or without. Only for this room's .cc files: this header is heavy.
#pragma once

#include <openssl/pem.h>

#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/write.hpp>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "http/tls_context.h"

namespace caravan::http {

class Wire {
 public:
  using Socket = boost::asio::ip::tcp::socket;
  using error_code = boost::system::error_code;

  // tls: null for plain text.
  Wire(Socket socket, std::shared_ptr<TlsContext> tls)
      : socket_(std::move(socket)), context_(std::move(tls)) {
    if (context_) tls_.emplace(socket_, context_->context);
  }

  // done(error_code) each, and with the number of bytes where some are read.
  template <typename Done>
  void handshake(Done done) {
    if (tls_) return tls_->async_handshake(boost::asio::ssl::stream_base::server, std::move(done));
    boost::asio::post(socket_.get_executor(), [done = std::move(done)] { done(error_code()); });
  }
  template <typename Done>
  void read_some(boost::asio::mutable_buffer into, Done done) {
    tls_ ? tls_->async_read_some(into, std::move(done)) : socket_.async_read_some(into, std::move(done));
  }
  template <typename Done>
  void write(boost::asio::const_buffer from, Done done) {
    auto written = [done = std::move(done)](error_code error, std::size_t) { done(error); };
    tls_ ? boost::asio::async_write(*tls_, from, std::move(written))
         : boost::asio::async_write(socket_, from, std::move(written));
  }
  // Says that nothing more comes; nothing may be pending. What the client sends from now on is read without
  // TLS, to be thrown away.
  template <typename Done>
  void shut_down(Done done) {
    auto shut = [this, done = std::move(done)](error_code) {
      tls_.reset();
      error_code ignored;
      socket_.shutdown(Socket::shutdown_send, ignored);
      done();
    };
    tls_ ? tls_->async_shutdown(std::move(shut))
         : boost::asio::post(socket_.get_executor(), [shut = std::move(shut)] { shut({}); });
  }
  // What is pending ends with an error.
  void cancel() {
    error_code ignored;
    socket_.cancel(ignored);
  }
  void close() {
    error_code ignored;
    socket_.close(ignored);
  }
  Socket::executor_type executor() { return socket_.get_executor(); }

  // The address of the client, of IPv4 as such wherever this server listens.
  std::string host() const {
    error_code unknown;
    const auto endpoint = socket_.remote_endpoint(unknown);
    if (unknown) return "";
    const auto address = endpoint.address();
    const bool is_mapped = address.is_v6() && address.to_v6().is_v4_mapped();
    return is_mapped ? make_address_v4(boost::asio::ip::v4_mapped, address.to_v6()).to_string()
                     : address.to_string();
  }
  // In PEM; empty: he showed none. Its chain was verified.
  std::string certificate() {
    if (!tls_) return {};
    const std::unique_ptr<X509, decltype(&X509_free)> shown(SSL_get1_peer_certificate(tls_->native_handle()),
                                                            &X509_free);
    const std::unique_ptr<BIO, decltype(&BIO_free)> text(BIO_new(BIO_s_mem()), &BIO_free);
    if (!shown || !text || PEM_write_bio_X509(text.get(), shown.get()) != 1) return {};
    char* bytes = nullptr;
    const auto count = BIO_get_mem_data(text.get(), &bytes);
    return {bytes, static_cast<std::size_t>(count)};
  }

 private:
  Socket socket_;
  std::shared_ptr<TlsContext> context_;
  std::optional<boost::asio::ssl::stream<Socket&>> tls_;
};

}  // namespace caravan::http
