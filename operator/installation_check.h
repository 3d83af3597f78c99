// `caravan-operator check`: whether what was installed works, asked of the API server by an account of its
// own.
//
// An operator is ready, one leads, the job service is ready where there is to be one, and the server takes a
// job: its definition, rights and policies act, and nothing is kept. The chart's test runs it (deploy/helm).
// Readiness is waited for, what the server says of the job is final. Errors say what is missing and where to
// look.
#pragma once

#include "common/clock.h"
#include "kube/client/client.h"
#include "operator/options.h"

namespace caravan::controller {

// Of the Deployment and the Lease of the operators, which are null when they are not there. Empty: nothing.
std::string what_is_missing(const kube::Json& deployment, const kube::Json& lease);

// A sentence of what was found.
Result<std::string> check_installation(kube::Client& client, Clock& clock, const CheckOptions& options);

// The same of the cluster that this process runs in, told on the log.
Result<ExitCode> run_check(const CheckOptions& options);

}  // namespace caravan::controller
