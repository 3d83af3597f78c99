// How this program reaches its API server: as the pod that it runs in, or as a kubeconfig in JSON says.
#pragma once

#include <string>

#include "kube/config/client_config.h"

namespace caravan {

// kubeconfig: a file; empty: as the pod.
Result<kube::ClientConfig> load_cluster_config(const std::string& kubeconfig);

}  // namespace caravan
