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
  // The server answered 401: what was read must not be used again without a look at its source.
  virtual void forget() = 0;
  // TLS failed on this side, for a file that may have been rotated: only files are looked at again, and
  // nobody has to log in.
  virtual void forget_files() = 0;
};

}  // namespace caravan::kube
