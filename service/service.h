// The job service as one process: its copy of the jobs, who may do what, the methods, and what serves them.
//
// Holds no right but to read jobs and to ask the API server who somebody is and what he may do. Replicas
// share nothing: any of them may go at any time. A signal ends it in order: not ready, with calls as before
// until whoever sends them here has had time to notice; no new calls, running ones for some seconds, the
// watch. A second signal ends it at once.
#pragma once

#include "common/result.h"
#include "service/options.h"

namespace caravan::service {

// signal_fd: SIGINT and SIGTERM (see common/process.h).
Result<ExitCode> run_service(const ServiceOptions& options, int signal_fd);

}  // namespace caravan::service
