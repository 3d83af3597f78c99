// The Secret with which the agents of one job know each other (mutual TLS).
//
// An authority is made for the job, signs one certificate that all its agents share, and its key is thrown
// away: nobody else can ever get one. Errors carry OpenSSL's reason.
#pragma once

#include "common/result.h"
#include "operator/api/job_object.h"

namespace caravan::controller {

Result<kube::Json> certificates_intent(const Job& job);

}  // namespace caravan::controller
