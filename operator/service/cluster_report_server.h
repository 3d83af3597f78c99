// The JobReports service of a cluster: coordinators report over TLS, each with the token of its pod.
//
// A stream is authenticated before its first report is read, by threads of their own so that gRPC's never
// wait. A result is acknowledged when it is on the board; if this process then dies, the last words of the
// pod say the same. A stream for a job that the board does not know ends with NOT_FOUND; when the job goes
// meanwhile, reports are dropped. Everything that strangers can make more of is bounded, and what is beyond a
// bound is refused with RESOURCE_EXHAUSTED, as is the stream whose turn is over (report_places.h); a pod has
// one stream, its newest. Errors of start: an address in use or not ours, or bad PEM.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "common/call_context.h"
#include "common/certificates.h"
#include "common/result.h"
#include "operator/service/progress_board.h"
#include "operator/service/report_places.h"
#include "serving/task_pool.h"

namespace caravan::controller {

class ClusterReportServer {
 public:
  using Authenticate = std::function<Result<Reporter>(const CallContext& context, const std::string& token)>;

  // Called by any thread.
  class Observer {
   public:
    virtual ~Observer() = default;
    // A call ended with that status (as gRPC names it) after that time.
    virtual void on_handled(const std::string& code, std::chrono::nanoseconds took) = 0;
    virtual void on_admitted(const Reporter& reporter) = 0;
    // A report that cannot be true was not taken.
    virtual void on_refused(const Reporter& reporter, const std::string& why) = 0;
    // A stream tells faster than it is read.
    virtual void on_held_up() = 0;
    virtual void on_warning(const std::string& message) = 0;
  };

  struct Limits {
    ReportPlaces::Limits places = {};
    int message_bytes = 64 * 1024;
    std::size_t memory_bytes = std::size_t{96} << 20;  // of all messages and connections together
    std::chrono::milliseconds review{10'000};
    TaskPool::Limits reviews = {};
  };

  struct Config {
    std::string listen;  // HOST:PORT, port 0: any
    KeyPair identity;
    Authenticate authenticate;
    Limits limits = {};
  };

  // The references outlive the server.
  static Result<std::unique_ptr<ClusterReportServer>> start(Config config, Clock& clock, ProgressBoard& board,
                                                            Observer& observer);
  // Ends every stream at once, also those that wait for an answer of the API server.
  virtual ~ClusterReportServer() = default;
  virtual int port() const = 0;
  // How long the oldest authentication that runs has been running.
  virtual Clock::Duration longest_review() const = 0;
};

}  // namespace caravan::controller
