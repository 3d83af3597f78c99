// Tells on standard output what becomes of a job, until it ends or is as far as it was waited for.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "cli/cluster/cluster.h"

namespace caravan::cli {

struct Awaited {
  std::string condition = {};                        // empty: the job's end
  std::optional<std::chrono::seconds> timeout = {};  // none: for ever
  bool quiet = false;                                // tells the outcome only
};

// The job's exit code when it ended; kDone when what was waited for came first. A job that ends without it is
// kJobFailed, also when it is complete.
Result<ExitCode> follow_job(Cluster& cluster, const std::string& name, const Awaited& awaited);

}  // namespace caravan::cli
