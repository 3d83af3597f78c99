#include "service/rpc/tls_files.h"

#include <fmt/format.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/security/tls_certificate_provider.h>
#include <grpcpp/security/tls_credentials_options.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <cstdlib>

#include "common/file_contents.h"

namespace caravan::service {
namespace {

template <typename T, void (*kFree)(T*)>
struct Free {
  void operator()(T* object) const { kFree(object); }
};
using Bio = std::unique_ptr<BIO, Free<BIO, BIO_free_all>>;
using Certificate = std::unique_ptr<X509, Free<X509, X509_free>>;
using Key = std::unique_ptr<EVP_PKEY, Free<EVP_PKEY, EVP_PKEY_free>>;

Bio bio_of(const std::string& text) {
  return Bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

Result<std::string> read(const char* flag, const std::string& path) {
  auto text = file_contents(path);
  if (!text) return bad_input(fmt::format("{}: {}", flag, text.error().message));
  return text;
}

Result<Certificate> read_certificate(const char* flag, const std::string& path) {
  const auto text = read(flag, path);
  if (!text) return tl::unexpected(text.error());
  Certificate certificate(PEM_read_bio_X509(bio_of(*text).get(), nullptr, nullptr, nullptr));
  if (!certificate) return bad_input(fmt::format("{}: {} is no certificate in PEM", flag, path));
  return certificate;
}

}  // namespace

Status check_tls_files(const TlsFiles& files) {
  const auto certificate = read_certificate("--tls-certificate", files.certificate);
  if (!certificate) return tl::unexpected(certificate.error());
  const auto text = read("--tls-key", files.key);
  if (!text) return tl::unexpected(text.error());
  const Key key(PEM_read_bio_PrivateKey(bio_of(*text).get(), nullptr, nullptr, nullptr));
  if (!key) return bad_input(fmt::format("--tls-key: {} is no private key in PEM", files.key));
  if (X509_check_private_key(certificate->get(), key.get()) != 1)
    return bad_input(fmt::format("--tls-key: {} is not the key of {}", files.key, files.certificate));
  if (files.client_ca.empty()) return {};
  return read_certificate("--client-ca", files.client_ca).map([](const auto&) {});
}

Result<http::TlsMaterial> read_tls_files(const TlsFiles& files) {
  auto certificate = read("--tls-certificate", files.certificate);
  if (!certificate) return tl::unexpected(std::move(certificate.error()));
  auto key = read("--tls-key", files.key);
  if (!key) return tl::unexpected(std::move(key.error()));
  auto authority = files.client_ca.empty() ? Result<std::string>() : read("--client-ca", files.client_ca);
  if (!authority) return tl::unexpected(std::move(authority.error()));
  return http::TlsMaterial{.certificate_pem = *std::move(certificate),
                           .key_pem = *std::move(key),
                           .client_ca_pem = *std::move(authority)};
}

// gRPC takes no lower bound of the version from outside. Ciphers are named here for TLS 1.2 only, those
// of 1.3 being OpenSSL's own: one that needs a key both sides have agreed on before, which this server never
// has, leaves no 1.2.
void forbid_old_tls() {
  setenv("GRPC_SSL_CIPHER_SUITES", "PSK-AES256-GCM-SHA384", 1);
}

std::shared_ptr<grpc::ServerCredentials> make_server_credentials(const TlsFiles& files) {
  using namespace grpc::experimental;
  TlsServerCredentialsOptions options(std::make_shared<FileWatcherCertificateProvider>(
      files.key, files.certificate, files.client_ca, static_cast<unsigned>(kTlsFilesStand.count())));
  options.watch_identity_key_cert_pairs();
  if (files.client_ca.empty()) {
    options.set_cert_request_type(GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE);
  } else {
    options.watch_root_certs();
    options.set_cert_request_type(GRPC_SSL_REQUEST_CLIENT_CERTIFICATE_AND_VERIFY);
  }
  return TlsServerCredentials(options);
}

}  // namespace caravan::service
