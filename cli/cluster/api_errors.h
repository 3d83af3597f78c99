// What the API server refused, in one sentence with what to do about it, and the exit code that goes with it:
// 4 when no server was reached, or none that takes the user, 2 for what it found wrong with an object. Pure.
#pragma once

#include <string>

#include "cli/cluster/cluster_error.h"
#include "kube/api/api_error.h"

namespace caravan::cli {

// The server's own words, without the call and the code.
std::string words_of(const kube::ApiError& error);

Trouble trouble_of(const kube::ApiError& error);

ClusterError explain(const kube::ApiError& error, const Asked& asked, const std::string& server);

}  // namespace caravan::cli
