// The operator as one process: client, election (leadership.h), caches (job_watch.h), controller
// (job_loop.h), report service and the job service's certificate (leader_services.h), probes.
//
// Caches fill before the election is won, so that a standby takes over at once. Guarantees: nothing is
// written without the lease; when it is lost the process ends at once, with exit code 1. A signal ends it in
// order: no new work, running reconciles, events, the lease, the reports, the caches; a second signal ends it
// at once. A leader whose caches do not fill in time ends in order too, with an error that names them:
// another may do better.
#pragma once

#include "common/result.h"
#include "operator/options.h"

namespace caravan::controller {

// signal_fd: SIGINT and SIGTERM (see common/process.h).
Result<ExitCode> run_operator(const OperatorOptions& options, int signal_fd);

}  // namespace caravan::controller
