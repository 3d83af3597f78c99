// For tests: a client over TLS that says what it is told, and shows whom it is told to.
#pragma once

#include <gtest/gtest.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>

#include <array>
#include <memory>
#include <string>
#include <string_view>

#include "common/certificates.h"

namespace caravan::http::testing {

struct TlsClientOptions {
  std::string authority_pem;  // whom it believes
  KeyPair shown = {};         // empty: nobody
  int highest = TLS1_3_VERSION;
};

class TlsClient {
 public:
  TlsClient(const std::string& address, const TlsClientOptions& options) {
    SSL_CTX_set_max_proto_version(context_.get(), options.highest);
    SSL_CTX_set_verify(context_.get(), SSL_VERIFY_PEER, nullptr);
    X509_STORE_add_cert(SSL_CTX_get_cert_store(context_.get()), read(options.authority_pem).get());
    if (!options.shown.key_pem.empty()) {
      SSL_CTX_use_certificate(context_.get(), read(options.shown.certificate_pem).get());
      const Pointer<BIO> text = bio(options.shown.key_pem);
      const Pointer<EVP_PKEY> key(PEM_read_bio_PrivateKey(text.get(), nullptr, nullptr, nullptr),
                                  EVP_PKEY_free);
      SSL_CTX_use_PrivateKey(context_.get(), key.get());
    }
    wire_.reset(BIO_new_ssl_connect(context_.get()));
    BIO_set_conn_hostname(wire_.get(), ("127.0.0.1" + address.substr(address.rfind(':'))).c_str());
    connected_ = BIO_do_connect(wire_.get()) == 1 && BIO_do_handshake(wire_.get()) == 1;
  }

  bool is_connected() const { return connected_; }
  std::string name_of_server() {
    const Pointer<X509> shown(SSL_get1_peer_certificate(ssl()), X509_free);
    std::array<char, 256> name{};
    if (shown)
      X509_NAME_get_text_by_NID(X509_get_subject_name(shown.get()), NID_commonName, name.data(), name.size());
    return name.data();
  }
  void send(std::string_view text) { BIO_write(wire_.get(), text.data(), static_cast<int>(text.size())); }
  void close() { wire_.reset(); }
  // Until the end of the connection, or until what is wanted has come.
  std::string receive(std::string_view wanted = {}) {
    std::string text;
    std::array<char, 4096> buffer;
    while (wanted.empty() || text.find(wanted) == std::string::npos) {
      const int count = BIO_read(wire_.get(), buffer.data(), static_cast<int>(buffer.size()));
      if (count <= 0) break;
      text.append(buffer.data(), static_cast<std::size_t>(count));
    }
    return text;
  }

 private:
  template <typename T>
  using Pointer = std::unique_ptr<T, void (*)(T*)>;

  static Pointer<BIO> bio(const std::string& text) {
    return {BIO_new_mem_buf(text.data(), static_cast<int>(text.size())), BIO_free_all};
  }
  static Pointer<X509> read(const std::string& pem) {
    return {PEM_read_bio_X509(bio(pem).get(), nullptr, nullptr, nullptr), X509_free};
  }
  SSL* ssl() {
    SSL* ssl = nullptr;
    BIO_get_ssl(wire_.get(), &ssl);
    return ssl;
  }

  Pointer<SSL_CTX> context_{SSL_CTX_new(TLS_client_method()), SSL_CTX_free};
  Pointer<BIO> wire_{nullptr, BIO_free_all};
  bool connected_ = false;
};

}  // namespace caravan::http::testing
