// Tells what becomes of a job, until it ends or is as far as it was waited for.
#pragma once

#include <chrono>
#include <cstdio>
#include <optional>
#include <string>

#include "cli/cluster/cluster.h"

namespace caravan::cli {

struct Awaited {
  std::string condition = {};                        // empty: the job's end
  std::optional<std::chrono::seconds> timeout = {};  // none: for ever
  bool quiet = false;                                // tells the outcome only
  std::FILE* news = stdout;                          // where the rest is told
};

// The job's exit code when it ended; kDone when what was waited for came first, or standard output took no
// more, which is the caller's to tell. A job that ends without what was waited for is kJobFailed, also when
// it is complete.
Result<ExitCode> follow_job(Cluster& cluster, const std::string& name, const Awaited& awaited);

}  // namespace caravan::cli
