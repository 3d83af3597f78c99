// What the job service refused, in one sentence with what to do about it, and what to do next; in the words
// that the API server's errors have (api_errors.h) wherever it is the same. Pure.
#pragma once

#include <grpcpp/support/status.h>

#include <chrono>
#include <optional>
#include <string>

#include "cli/cluster/cluster_error.h"

namespace caravan::cli {

struct Server {
  std::string address;
  bool is_connected = true;  // a call that ended without an answer went to it
};

ClusterError explain(const grpc::Status& status, const Asked& asked, const Server& server);

// It went to the service, which has not answered in time, and may have done what was asked for.
bool is_late(const grpc::Status& status, const Server& server);

// The reason of the service's ErrorInfo, such as RESUME_TOKEN_TOO_OLD; empty where somebody else answered.
std::string reason_of(const grpc::Status& status);

// The wait before a call is made again, after so many tries: as the service says, or while none is reached.
// Nothing where the answer is final.
std::optional<std::chrono::milliseconds> wait_before_retry(const grpc::Status& status, int tries);

}  // namespace caravan::cli
