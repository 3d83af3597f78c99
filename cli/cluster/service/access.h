// Where the job service is, by what its certificate is verified, and as whom it is called: from options and
// environment, and from the kubeconfig for what they do not say.
#pragma once

#include <functional>
#include <string>

#include "cli/cluster/cluster_error.h"
#include "cli/cluster/options.h"
#include "common/result.h"

namespace caravan::cli {

struct ServiceAccess {
  std::string address = {};
  std::string server_name = {};  // empty: the address's host
  std::string root_pem = {};
  std::string name_space = {};
  // For each call anew: tokens of a cluster's accounts are renewed in their file, or by a plugin, whose
  // failure is an outage once it has worked.
  std::function<ClusterResult<std::string>()> token = {};
  // That one was refused.
  std::function<void(const std::string& refused)> forget_token = [](const std::string&) {};
};

// Errors, exit code 2, say what is missing and how to give it.
Result<ServiceAccess> find_service_access(const ClusterOptions& options);

// How to make a token, for sentences.
inline constexpr char kHowToGetAToken[] =
    "`kubectl create token ACCOUNT --audience caravan --audience https://kubernetes.default.svc` makes one, "
    "if "
    "that is your API server's own audience, for --token-file or $CARAVAN_TOKEN";

}  // namespace caravan::cli
