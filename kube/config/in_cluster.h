// How a pod reaches its own API server: the environment names the server, mounted files hold the rest.
#pragma once

#include <string>

#include "kube/config/client_config.h"

namespace caravan::kube {

inline constexpr const char* kServiceAccountFolder = "/var/run/secrets/kubernetes.io/serviceaccount";

// An error outside of a pod. The token and the authority stay files, since both are rotated.
Result<ClientConfig> in_cluster_config(const std::string& service_account_folder = kServiceAccountFolder);

}  // namespace caravan::kube
