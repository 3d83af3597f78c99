#include "serving/cluster_config.h"

#include "kube/config/in_cluster.h"
#include "kube/config/kubeconfig.h"

namespace caravan {

Result<kube::ClientConfig> load_cluster_config(const std::string& kubeconfig) {
  if (kubeconfig.empty()) {
    auto config = kube::in_cluster_config();
    if (!config)
      config.error().message +=
          "; outside of a pod name a kubeconfig in JSON with --kubeconfig: `kubectl config view --raw "
          "--flatten "
          "-o json` prints one";
    return config;
  }
  auto config = kube::load_kubeconfig({kubeconfig}, "", kube::read_json_document);
  if (!config) config.error().message = "--kubeconfig: " + config.error().message;
  return config;
}

}  // namespace caravan
