#include "cli/cluster/service/access.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <optional>
#include <utility>

#include "cli/cluster/service_root.h"
#include "common/file_contents.h"
#include "common/host_port.h"

namespace caravan::cli {
namespace {

using Token = std::function<ClusterResult<std::string>()>;

tl::unexpected<ClusterError> bad_token(std::string message) {
  return tl::unexpected(ClusterError{{std::move(message), ExitCode::kBadInput}});
}

// A token is one line of visible characters; anything else would be another header, or an accident.
ClusterResult<std::string> checked(std::string token, const std::string& source) {
  while (!token.empty() && (token.back() == '\n' || token.back() == '\r' || token.back() == ' '))
    token.pop_back();
  const bool is_word = std::ranges::all_of(token, [](unsigned char c) { return c > 0x20 && c < 0x7f; });
  if (!token.empty() && is_word) return token;
  return bad_token(fmt::format("{} has no token: expected one line; {}", source, kHowToGetAToken));
}

Token of_file(const std::string& path) {
  return [path]() -> ClusterResult<std::string> {
    auto text = file_contents(path);
    if (!text) return bad_token(fmt::format("--token-file: {}", text.error().message));
    return checked(*std::move(text), fmt::format("--token-file: {}", path));
  };
}

Token of_environment(const char* value) {
  return [text = std::string(value)] { return checked(text, fmt::format("${}", kTokenVariable)); };
}

// Connected to when something is asked of it.
class Kubeconfig {
 public:
  explicit Kubeconfig(const ClusterOptions& options) : options_(options) {}

  Result<std::shared_ptr<ApiServer>> server() {
    if (!server_) {
      server_ = ApiServer::connect(options_).map(
          [](std::unique_ptr<ApiServer>&& connected) { return std::shared_ptr(std::move(connected)); });
    }
    return *server_;
  }

 private:
  const ClusterOptions& options_;
  std::optional<Result<std::shared_ptr<ApiServer>>> server_;
};

Status find_token(const ServiceOptions& options, Kubeconfig& kubeconfig, ServiceAccess& access) {
  if (!options.token_file.empty()) {
    access.token = of_file(options.token_file);
    return {};
  }
  if (const char* value = std::getenv(kTokenVariable); value != nullptr && *value != '\0') {
    access.token = of_environment(value);
    return {};
  }
  const auto server = kubeconfig.server();
  if (!server)
    return bad_input(
        fmt::format("no token for the job service; {} ({})", kHowToGetAToken, server.error().message));
  access.forget_token = [server = *server](const std::string& refused) { server->forget_token(refused); };
  access.token = [server = *server]() -> ClusterResult<std::string> {
    auto token = server->token();
    if (!token || !token->empty()) return token;
    return bad_token(
        fmt::format("no token for the job service, and the kubeconfig's user has none; {}", kHowToGetAToken));
  };
  return {};
}

// Always of the namespace that belongs to Caravan: in any other one its users write ConfigMaps.
Result<std::string> root_of(const ServiceOptions& options, Kubeconfig& kubeconfig) {
  if (!options.root_file.empty()) {
    auto text = file_contents(options.root_file);
    if (!text) return bad_input(fmt::format("--server-root: {}", text.error().message));
    // Without one, gRPC would trust whomever this machine trusts.
    if (text->find("-----BEGIN CERTIFICATE-----") != std::string::npos) return text;
    return bad_input(fmt::format("--server-root: {} has no certificate in PEM", options.root_file));
  }
  auto root = kubeconfig.server().and_then(
      [](const auto& server) { return fetch_service_root(*server, kUsualNamespace); });
  if (root) return root;
  return bad_input(
      fmt::format("the job service's root cannot be fetched; name its file with --server-root, as "
                  "`caravan service root` prints it ({})",
                  root.error().message));
}

Result<std::string> name_space_of(const ClusterOptions& options, Kubeconfig& kubeconfig) {
  if (!options.name_space.empty()) return options.name_space;
  const auto server = kubeconfig.server();
  if (server) return (*server)->name_space();
  return bad_input(fmt::format("no namespace: name one with -n ({})", server.error().message));
}

}  // namespace

Result<ServiceAccess> find_service_access(const ClusterOptions& options) {
  const std::string& address = options.service.address;
  if (!is_host_port(address)) return bad_input(fmt::format("--server: expected HOST:PORT, got {}", address));
  ServiceAccess access{.address = address, .server_name = options.service.server_name};
  Kubeconfig kubeconfig(options);
  auto found = find_token(options.service, kubeconfig, access);
  if (!found) return tl::unexpected(std::move(found.error()));
  if (const auto readable = access.token(); !readable) return tl::unexpected(readable.error());
  auto name_space = name_space_of(options, kubeconfig);
  if (!name_space) return tl::unexpected(std::move(name_space.error()));
  auto root = root_of(options.service, kubeconfig);
  if (!root) return tl::unexpected(std::move(root.error()));
  access.name_space = *std::move(name_space);
  access.root_pem = *std::move(root);
  return access;
}

}  // namespace caravan::cli
