#include "kube/config/in_cluster.h"

#include <fmt/format.h>

#include <cstdlib>
#include <fstream>

namespace caravan::kube {

Result<ClientConfig> in_cluster_config(const std::string& service_account_folder) {
  const char* host = std::getenv("KUBERNETES_SERVICE_HOST");
  const char* port = std::getenv("KUBERNETES_SERVICE_PORT");
  if (host == nullptr || port == nullptr || *host == '\0' || *port == '\0') {
    return bad_input("not in a pod: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set");
  }
  ClientConfig config;
  config.server = {.host = host, .port = port};
  config.authority.file = service_account_folder + "/ca.crt";
  config.token_file = service_account_folder + "/token";
  std::ifstream name_space(service_account_folder + "/namespace");
  if (!std::getline(name_space, config.name_space) || config.name_space.empty()) {
    return bad_input(fmt::format("{}/namespace cannot be read: mount the service account's token",
                                 service_account_folder));
  }
  return config;
}

}  // namespace caravan::kube
