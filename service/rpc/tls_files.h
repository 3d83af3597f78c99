// The service's certificate and key, and the authority of its callers' certificates, as files that are read
// again when they are rotated. Nothing below TLS 1.3.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "common/result.h"
#include "http/tls.h"

namespace grpc {
class ServerCredentials;
}

namespace caravan::service {

struct TlsFiles {
  std::string certificate;  // PEM, with its chain
  std::string key;          // PEM
  std::string client_ca;    // PEM; empty: callers come with tokens only
};

// Errors, exit code 2, name the flag: a file that cannot be read, or a key that is not the certificate's.
Status check_tls_files(const TlsFiles& files);

// Their contents as they are now. Errors name the flag.
Result<http::TlsMaterial> read_tls_files(const TlsFiles& files);
// After that time they are read again.
inline constexpr std::chrono::seconds kTlsFilesStand{10};

// Before the process makes its first gRPC object.
void forbid_old_tls();
std::shared_ptr<grpc::ServerCredentials> make_server_credentials(const TlsFiles& files);

}  // namespace caravan::service
