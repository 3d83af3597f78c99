// Runs a credential plugin of a kubeconfig (client.authentication.k8s.io, v1 or v1beta1) and reads what it
// prints.
//
// The plugin gets KUBERNETES_EXEC_INFO, of the version that the kubeconfig asks for, no terminal and nothing
// to read. It is killed when the deadline comes or a stop is requested; what it leaves behind when it ends,
// such as a browser or a cache of its own, goes on.
#pragma once

#include <optional>
#include <string>

#include "common/call_context.h"
#include "kube/config/client_config.h"

namespace caravan::kube {

struct ExecCredential {
  std::string token = {};
  std::string certificate_pem = {};
  std::string key_pem = {};
  std::optional<Clock::WallTime> expires = {};
};

// `cluster` is what the plugin is told about the server when it asks for it; `authority_pem` belongs to it.
Result<ExecCredential> run_exec_plugin(const CallContext& context, Clock& clock, const ExecPlugin& plugin,
                                       const ClientConfig& cluster, const std::string& authority_pem);

// From what a plugin printed, which must be of the plugin's version; pure.
Result<ExecCredential> parse_exec_credential(const std::string& output, const ExecPlugin& plugin);

}  // namespace caravan::kube
