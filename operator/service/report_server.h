// The JobReports service of a cluster: coordinators report over TLS, each with the token of its pod.
//
// A stream is authenticated before its first report is read, by a thread of its own so that gRPC's never
// wait. A result is acknowledged when it is on the board; if this process then dies, the last words of the
// pod say the same. A stream for a job that the board does not know ends with NOT_FOUND; when the job goes
// meanwhile, reports are dropped. Errors of start: an address in use or not ours, or bad PEM.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "common/certificates.h"
#include "common/result.h"
#include "operator/service/progress_board.h"

namespace caravan::controller {

class ReportServer {
 public:
  using Authenticate = std::function<Result<Reporter>(const std::string& token)>;
  // A call ended with that status (as gRPC names it) after that time.
  using OnHandled = std::function<void(const std::string& code, std::chrono::nanoseconds took)>;

  // listen: HOST:PORT, port 0: any. `board` outlives the server.
  static Result<std::unique_ptr<ReportServer>> start(const std::string& listen, const KeyPair& identity,
                                                     Authenticate authenticate, ProgressBoard& board,
                                                     OnHandled on_handled);
  virtual ~ReportServer() = default;
  virtual int port() const = 0;
};

}  // namespace caravan::controller
