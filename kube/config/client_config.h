// How to reach an API server and as whom, wherever that was written down (kubeconfig.h, in_cluster.h).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/result.h"

namespace caravan::kube {

struct Endpoint {
  std::string host;  // an IPv6 address without brackets
  std::string port;

  bool operator==(const Endpoint&) const = default;
};

// A program that prints credentials.
struct ExecPlugin {
  std::string command;
  std::string api_version = "client.authentication.k8s.io/v1";
  std::vector<std::string> arguments = {};
  std::vector<std::pair<std::string, std::string>> environment = {};
  std::string install_hint = {};
  bool provide_cluster_info = false;
};

// The PEM text itself, or a file that is read again from time to time since it may be rotated.
struct Pem {
  std::string text = {};
  std::string file = {};

  bool empty() const { return text.empty() && file.empty(); }
};

struct ClientConfig {
  Endpoint server = {};
  std::string base_path = {};        // of a server behind a proxy with a path, such as /k8s/clusters/c1
  std::string tls_server_name = {};  // checked instead of the host name
  bool insecure_skip_tls_verify = false;
  std::optional<Endpoint> proxy = {};  // HTTP CONNECT
  Pem authority = {};                  // the only trusted one when given
  Pem certificate = {};
  Pem key = {};
  std::string token = {};
  std::string token_file = {};
  std::optional<ExecPlugin> exec = {};
  std::string name_space = "default";
  std::vector<std::string> warnings = {};  // what the user should be told about the above
};

struct Url {
  std::string scheme;
  Endpoint endpoint;
  std::string path;  // without a slash at the end
};

// "https://[::1]:6443/path"; the port may be missing. `form`: what the error says to write. It repeats no
// password.
Result<Url> parse_url(const std::string& text, std::string_view form = "https://host:port");

// "[::1]:6443", as in a Host header.
std::string to_string(const Endpoint& endpoint);

}  // namespace caravan::kube
