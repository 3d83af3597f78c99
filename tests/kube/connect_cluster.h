// A cluster, as the commands use it, that is the scripted server.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <memory>

#include "cli/cluster/cluster.h"
#include "common/testing/temporary_folder.h"
#include "tests/kube/fault_server.h"

namespace caravan::kube::testing {

// In the namespace s. folder: for its kubeconfig. Null, and a failure of the test, where that does not go.
inline std::unique_ptr<cli::Cluster> connect_cluster(const FaultServer& server,
                                                     const test::TemporaryFolder& folder) {
  folder.write("ca.pem", server.authority().certificate_pem);
  const std::string config = folder.write("config", fmt::format(R"(
apiVersion: v1
kind: Config
current-context: c
contexts: [{{name: c, context: {{cluster: c, user: u, namespace: s}}}}]
clusters: [{{name: c, cluster: {{server: "https://127.0.0.1:{}", certificate-authority: ca.pem}}}}]
users: [{{name: u, user: {{token: t}}}}]
)",
                                                                server.port()));
  cli::ClusterOptions options;
  options.kubeconfig = config;
  auto cluster = cli::Cluster::connect(options);
  if (!cluster) ADD_FAILURE() << cluster.error().message;
  return cluster ? *std::move(cluster) : nullptr;
}

}  // namespace caravan::kube::testing
