// Certificates and keys of a TLS client, and the OpenSSL context made of them.
//
// The peer is verified against `authority_pem` alone when it is given, else against the system's authorities.
// TLS 1.2 is the minimum. Errors name the part that OpenSSL refused.
#pragma once

#include <memory>
#include <string>

#include "kube/api/api_error.h"

namespace caravan::kube {

struct TlsMaterial {
  std::string authority_pem = {};
  std::string certificate_pem = {};  // with its chain
  std::string key_pem = {};
  bool verify_peer = true;

  bool operator==(const TlsMaterial&) const = default;
};

class TlsContext;  // tls_context_asio.h

ApiResult<std::shared_ptr<TlsContext>> make_tls_context(const TlsMaterial& material);

}  // namespace caravan::kube
