// Sends HTTP requests to one API server. The interface between the client and the network.
//
// Every call blocks its thread until the outcome, the deadline or a stop request, whichever is first. A
// request that may not be sent any more when its connection is ready is kRefusedHere. Messages of errors say
// what happened, not to which request.
#pragma once

#include <memory>
#include <string>

#include "common/call_context.h"
#include "kube/api/api_error.h"
#include "kube/transport/http.h"

namespace caravan::kube {

// An answer whose body is read while the server still writes it. Destruction ends the connection.
class HttpStream {
 public:
  virtual ~HttpStream() = default;
  virtual const HttpHead& head() const = 0;
  // The bytes that came since the last call; waits for some. Empty: the body ended as it should.
  virtual ApiResult<std::string> read(const CallContext& context) = 0;
};

class Transport {
 public:
  virtual ~Transport() = default;
  virtual ApiResult<HttpResponse> call(const CallContext& context, const HttpRequest& request) = 0;
  virtual ApiResult<std::unique_ptr<HttpStream>> open(const CallContext& context,
                                                      const HttpRequest& request) = 0;
};

}  // namespace caravan::kube
