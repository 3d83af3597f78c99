// What a server shows and believes over TLS 1.3; nothing below is spoken.
//
// Without resumption, so that every connection shows the certificate of now and has its client's verified.
// Errors, exit code 2, name the part that OpenSSL refused.
#pragma once

#include <memory>
#include <string>

#include "common/result.h"

namespace caravan::http {

struct TlsMaterial {
  std::string certificate_pem;  // with its chain
  std::string key_pem;
  std::string client_ca_pem = {};  // who signs clients' certificates, which are asked for; empty: nobody

  bool operator==(const TlsMaterial&) const = default;
};

class TlsContext;  // tls_context.h

Result<std::shared_ptr<TlsContext>> make_tls_context(const TlsMaterial& material);

}  // namespace caravan::http
