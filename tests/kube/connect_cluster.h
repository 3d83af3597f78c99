// A cluster, as the commands use it, that is the scripted server.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>

#include "cli/cluster/cluster.h"
#include "common/testing/temporary_folder.h"
#include "tests/kube/fault_server.h"

namespace caravan::kube::testing {

// A user of a kubeconfig in that folder: by a credential plugin that does this, and prints a token that has
// expired already.
inline std::string user_by_plugin(const test::TemporaryFolder& folder, const std::string& script) {
  const std::string program = folder.write("login", "#!/bin/sh\n" + script + R"(
cat <<end
{"kind": "ExecCredential", "apiVersion": "client.authentication.k8s.io/v1",
 "status": {"token": "t", "expirationTimestamp": "2020-01-01T00:00:00Z"}}
end
)");
  std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  return "exec: {apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never, command: ./login}";
}

// In the namespace s. folder: for its kubeconfig. Null, and a failure of the test, where that does not go.
inline std::unique_ptr<cli::Cluster> connect_cluster(const FaultServer& server,
                                                     const test::TemporaryFolder& folder,
                                                     const std::string& user = "token: t",
                                                     bool at_once = false) {
  folder.write("ca.pem", server.authority().certificate_pem);
  const std::string config = folder.write("config", fmt::format(R"(
apiVersion: v1
kind: Config
current-context: c
contexts: [{{name: c, context: {{cluster: c, user: u, namespace: s}}}}]
clusters: [{{name: c, cluster: {{server: "https://127.0.0.1:{}", certificate-authority: ca.pem}}}}]
users: [{{name: u, user: {{{}}}}}]
)",
                                                                server.port(), user));
  cli::ClusterOptions options;
  options.at_once = at_once;
  options.kubeconfig = config;
  auto cluster = cli::Cluster::connect(options);
  if (!cluster) ADD_FAILURE() << cluster.error().message;
  return cluster ? *std::move(cluster) : nullptr;
}

}  // namespace caravan::kube::testing
