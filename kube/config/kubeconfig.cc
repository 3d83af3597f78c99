#include "kube/config/kubeconfig.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <system_error>

#include "common/file_contents.h"
#include "kube/config/base64.h"

namespace caravan::kube {
namespace {

namespace fs = std::filesystem;

struct Document {
  fs::path file;
  Json content;
};

// A named cluster, user or context and the file that it stands in.
struct Entry {
  const Json* value = nullptr;
  fs::path file = {};

  std::string text(std::string_view key) const { return text_at(*value, {key}); }
  bool has(std::string_view key) const {
    const Json* at = find(*value, {key});
    return at != nullptr && !at->is_null() && !(at->is_string() && at->get_string().empty());
  }
  std::string path(std::string_view key) const {
    const std::string named = text(key);
    return named.empty() ? named : (file.parent_path() / named).lexically_normal().string();
  }
};

Result<std::vector<Document>> read_files(const std::vector<std::string>& files, const DocumentReader& read) {
  std::vector<Document> documents;
  for (const std::string& file : files) {
    std::error_code ignored;
    if (fs::status(file, ignored).type() == fs::file_type::not_found) continue;
    const auto text = file_contents(file);
    if (!text) return tl::unexpected(text.error());
    auto content = read(*text, file);
    if (!content) return tl::unexpected(std::move(content.error()));
    documents.push_back({.file = fs::absolute(file), .content = std::move(*content)});
  }
  if (documents.empty()) {
    return bad_input(fmt::format("no kubeconfig at {}", fmt::join(files, ", ")));
  }
  return documents;
}

// `list` is clusters, users or contexts, `kind` the singular, which is also the key of the value.
Result<Entry> find_named(const std::vector<Document>& documents, std::string_view list, std::string_view kind,
                         const std::string& name) {
  for (const Document& document : documents) {
    for (const Json& entry : array_at(document.content, {list})) {
      if (text_at(entry, {"name"}) != name) continue;
      static const Json kEmpty = JsonObject{};
      const Json* value = find(entry, {kind});
      return Entry{.value = value == nullptr || value->is_null() ? &kEmpty : value, .file = document.file};
    }
  }
  return bad_input(
      fmt::format("the kubeconfig {} has no {} named '{}'", documents.front().file.string(), kind, name));
}

std::string current_context(const std::vector<Document>& documents) {
  for (const Document& document : documents) {
    if (std::string name = text_at(document.content, {"current-context"}); !name.empty()) return name;
  }
  return {};
}

// KEY-data holds the text itself and wins over KEY, a file.
Status read_pem(const Entry& entry, const std::string& key, Pem& pem) {
  if (const std::string data = entry.text(key + "-data"); !data.empty()) {
    auto text = decode_base64(data, fmt::format("{}-data in {}", key, entry.file.string()));
    if (!text) return tl::unexpected(std::move(text.error()));
    pem.text = std::move(*text);
    return {};
  }
  pem.file = entry.path(key);
  return {};
}

Status read_proxy(const Entry& cluster, ClientConfig& config) {
  const std::string text = cluster.text("proxy-url");
  if (text.empty()) return {};
  const auto url = parse_url(text, "http://host:port");
  if (!url) return bad_input(fmt::format("{}: proxy-url: {}", cluster.file.string(), url.error().message));
  if (url->scheme != "http")
    return bad_input(fmt::format("proxy-url '{}': only http proxies are supported", text));
  config.proxy = url->endpoint;
  return {};
}

Status read_cluster(const Entry& cluster, ClientConfig& config) {
  const auto url = parse_url(cluster.text("server"));
  if (!url) return bad_input(fmt::format("{}: server: {}", cluster.file.string(), url.error().message));
  if (url->scheme != "https") {
    return bad_input(
        fmt::format("{}: the server must be https, not '{}'", cluster.file.string(), cluster.text("server")));
  }
  config.server = url->endpoint;
  config.base_path = url->path;
  config.tls_server_name = cluster.text("tls-server-name");
  config.insecure_skip_tls_verify = flag_at(*cluster.value, {"insecure-skip-tls-verify"});
  if (config.insecure_skip_tls_verify) {
    config.warnings.push_back(
        fmt::format("{}: insecure-skip-tls-verify is set: anybody on the way can pose as the server",
                    cluster.file.string()));
  }
  if (auto read = read_proxy(cluster, config); !read) return read;
  return read_pem(cluster, "certificate-authority", config.authority);
}

Result<ExecPlugin> read_exec(const Entry& user, const Json& exec) {
  const std::string version = text_at(exec, {"apiVersion"});
  if (version != "client.authentication.k8s.io/v1" && version != "client.authentication.k8s.io/v1beta1") {
    return bad_input(fmt::format(
        "{}: exec plugins of version '{}' are not supported, only client.authentication.k8s.io/v1 "
        "and v1beta1",
        user.file.string(), version));
  }
  if (text_at(exec, {"interactiveMode"}) == "Always") {
    return bad_input(fmt::format(
        "{}: the exec plugin '{}' cannot support interactive mode: standard input is unavailable; "
        "log in with it by hand, and write interactiveMode: IfAvailable where it works without",
        user.file.string(), text_at(exec, {"command"})));
  }
  ExecPlugin plugin{.command = text_at(exec, {"command"}),
                    .api_version = version,
                    .install_hint = text_at(exec, {"installHint"}),
                    .provide_cluster_info = flag_at(exec, {"provideClusterInfo"})};
  // A command with a slash is relative to the kubeconfig, one without is looked up in PATH.
  if (plugin.command.find('/') != std::string::npos) {
    plugin.command = (user.file.parent_path() / plugin.command).lexically_normal().string();
  }
  for (const Json& argument : array_at(exec, {"args"})) plugin.arguments.push_back(text_at(argument, {}));
  for (const Json& variable : array_at(exec, {"env"}))
    plugin.environment.emplace_back(text_at(variable, {"name"}), text_at(variable, {"value"}));
  return plugin;
}

Status read_user(const Entry& user, ClientConfig& config) {
  for (const std::string_view unsupported : {"auth-provider", "username", "password", "as"}) {
    if (user.has(unsupported)) {
      return bad_input(fmt::format(
          "{}: '{}' of the user is not supported; use a token, a client certificate or an exec plugin",
          user.file.string(), unsupported));
    }
  }
  config.token = user.text("token");
  config.token_file = user.path("tokenFile");
  if (user.has("exec")) {
    auto plugin = read_exec(user, *find(*user.value, {"exec"}));
    if (!plugin) return tl::unexpected(std::move(plugin.error()));
    config.exec = std::move(*plugin);
  }
  if (auto read = read_pem(user, "client-certificate", config.certificate); !read) return read;
  return read_pem(user, "client-key", config.key);
}

}  // namespace

Result<Json> read_json_document(std::string_view text, const std::string& path) {
  return parse_json(text, path);
}

std::vector<std::string> kubeconfig_files() {
  std::vector<std::string> files;
  const char* list = std::getenv("KUBECONFIG");
  std::stringstream names(list == nullptr ? "" : list);
  for (std::string name; std::getline(names, name, ':');) {
    if (!name.empty()) files.push_back(name);
  }
  if (!files.empty()) return files;
  const char* home = std::getenv("HOME");
  return {std::string(home == nullptr ? "." : home) + "/.kube/config"};
}

Result<ClientConfig> load_kubeconfig(const std::vector<std::string>& files, const std::string& context,
                                     const DocumentReader& read) {
  const auto documents = read_files(files, read);
  if (!documents) return tl::unexpected(documents.error());
  const std::string name = context.empty() ? current_context(*documents) : context;
  if (name.empty()) {
    return bad_input(
        fmt::format("the kubeconfig {} has no current-context: choose one", fmt::join(files, ", ")));
  }
  const auto chosen = find_named(*documents, "contexts", "context", name);
  if (!chosen) return tl::unexpected(chosen.error());
  const auto cluster = find_named(*documents, "clusters", "cluster", chosen->text("cluster"));
  if (!cluster) return tl::unexpected(cluster.error());

  ClientConfig config;
  if (chosen->has("namespace")) config.name_space = chosen->text("namespace");
  if (auto done = read_cluster(*cluster, config); !done) return tl::unexpected(std::move(done.error()));
  if (!chosen->has("user")) return config;
  const auto user = find_named(*documents, "users", "user", chosen->text("user"));
  if (!user) return tl::unexpected(user.error());
  if (auto done = read_user(*user, config); !done) return tl::unexpected(std::move(done.error()));
  return config;
}

}  // namespace caravan::kube
