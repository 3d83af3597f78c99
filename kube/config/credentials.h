// Who we are, as of now: the token and the TLS material, read again as they are rotated.
#pragma once

#include <string>

#include "common/call_context.h"
#include "kube/api/api_error.h"
#include "kube/transport/tls_context.h"

namespace caravan::kube {

class Credentials {
 public:
  virtual ~Credentials() = default;
  // Empty: authentication is by certificate, or not at all.
  virtual ApiResult<std::string> token(const CallContext& context) = 0;
  virtual ApiResult<TlsMaterial> tls(const CallContext& context) = 0;
  // The server answered 401 to this token: it must not be used again without a look at its source. One that
  // another thread has had since stays, but for a certificate that a plugin gave without a token: which one
  // was refused nobody knows.
  virtual void forget(const std::string& token) = 0;
  // TLS failed on this side, for a file that may have been rotated: only files are looked at again, and
  // nobody has to log in.
  virtual void forget_files() = 0;
};

}  // namespace caravan::kube
