// The page of `caravan run --page`: that of the job service, served by the run's own process, for its one job
// and to look at only.
//
// The run never waits for it, but at its very end, shortly, so that a page that is open shows how it ended;
// if the server fails, the run goes on. Who is let in: door.h.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "caravan/v1alpha1/job.pb.h"
#include "cli/run/prepare.h"
#include "cli/run/run_listener.h"
#include "cli/run/user_signals.h"
#include "common/clock.h"
#include "common/result.h"

namespace caravan::cli {

class RunPage {
 public:
  // address: HOST:PORT, port 0: any. logs: the folder of the nodes' logs. The clock outlives it. Errors name
  // the option, exit code 2.
  static Result<std::unique_ptr<RunPage>> start(const std::string& address, const v1alpha1::ObjectMeta& job,
                                                const PreparedRun& run, const std::filesystem::path& logs,
                                                Clock& clock);
  virtual ~RunPage() = default;

  // With the token.
  virtual const std::string& url() const = 0;
  // Empty, or what the user should know of the address.
  virtual const std::string& warning() const = 0;
  virtual RunListener& listener() = 0;
  // Tells how the run ended, to those who look; a signal of the user's cuts that short.
  virtual void end(const v1alpha1::JobResult& result, const UserSignals& signals) = 0;
};

}  // namespace caravan::cli
