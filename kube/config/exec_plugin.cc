#include "kube/config/exec_plugin.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <boost/json/serialize.hpp>
#include <cstdlib>
#include <sstream>

#include "common/process.h"
#include "kube/api/json.h"
#include "kube/api/timestamp.h"
#include "kube/config/base64.h"

namespace caravan::kube {
namespace {

constexpr std::size_t kLongestOutput = std::size_t{1} << 20;

Result<std::string> find_program(const ExecPlugin& plugin) {
  if (plugin.command.find('/') != std::string::npos) return plugin.command;
  const char* path = std::getenv("PATH");
  std::stringstream folders(path == nullptr ? "/usr/bin:/bin" : path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    std::string candidate = fmt::format("{}/{}", folder, plugin.command);
    if (::access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  return bad_input(
      fmt::format("the credential plugin '{}' is not in PATH. {}", plugin.command, plugin.install_hint));
}

JsonObject cluster_info(const ClientConfig& cluster, const std::string& authority_pem) {
  JsonObject info{{"server", fmt::format("https://{}{}", to_string(cluster.server), cluster.base_path)},
                  {"insecure-skip-tls-verify", cluster.insecure_skip_tls_verify}};
  if (!cluster.tls_server_name.empty()) info["tls-server-name"] = cluster.tls_server_name;
  if (!authority_pem.empty()) info["certificate-authority-data"] = encode_base64(authority_pem);
  if (cluster.proxy) info["proxy-url"] = fmt::format("http://{}", to_string(*cluster.proxy));
  return info;
}

std::string exec_info(const ExecPlugin& plugin, const ClientConfig& cluster,
                      const std::string& authority_pem) {
  JsonObject spec{{"interactive", false}};
  if (plugin.provide_cluster_info) spec["cluster"] = cluster_info(cluster, authority_pem);
  return boost::json::serialize(
      JsonObject{{"apiVersion", plugin.api_version}, {"kind", "ExecCredential"}, {"spec", spec}});
}

// False: nobody can write there any more.
bool read_what_is_there(int fd, std::string& output) {
  std::array<char, 4096> chunk{};
  ssize_t got = -1;
  while (output.size() < kLongestOutput && (got = ::read(fd, chunk.data(), chunk.size())) > 0)
    output.append(chunk.data(), static_cast<std::size_t>(got));
  return got != 0;
}

// Until the plugin ends: it may have closed its output before, and what it leaves behind may keep it open.
// Looks for a stop request ten times a second.
Result<std::string> output_of(const Process& plugin, int fd, const CallContext& context, Clock& clock,
                              const std::string& command) {
  constexpr int kLookMilliseconds = 100;
  std::string output;
  for (bool has_ended = false; !has_ended;) {
    if (context.stop.stop_requested()) return failure(fmt::format("{}: stopped", command));
    if (clock.now() >= context.deadline)
      return failure(fmt::format("{} printed no credentials in time", command));
    std::array<pollfd, 2> news{pollfd{.fd = plugin.pidfd(), .events = POLLIN, .revents = 0},
                               pollfd{.fd = fd, .events = POLLIN, .revents = 0}};
    ::poll(news.data(), news.size(), kLookMilliseconds);
    has_ended = news[0].revents != 0;
    if (fd >= 0 && !read_what_is_there(fd, output)) fd = -1;
    if (output.size() >= kLongestOutput)
      return failure(fmt::format("{} printed more than a megabyte", command));
  }
  return output;
}

}  // namespace

Result<ExecCredential> run_exec_plugin(const CallContext& context, Clock& clock, const ExecPlugin& plugin,
                                       const ClientConfig& cluster, const std::string& authority_pem) {
  const auto program = find_program(plugin);
  if (!program) return tl::unexpected(program.error());
  auto pipe = make_pipe();
  if (!pipe) return tl::unexpected(std::move(pipe.error()));
  if (auto set = set_nonblocking(pipe->read_end.get()); !set) return tl::unexpected(std::move(set.error()));
  SpawnOptions options{.program = *program, .arguments = plugin.arguments, .environment = plugin.environment};
  options.environment.emplace_back("KUBERNETES_EXEC_INFO", exec_info(plugin, cluster, authority_pem));
  options.stdout_fd = pipe->write_end.get();
  options.own_session = true;
  auto process = Process::spawn(options);
  if (!process) return tl::unexpected(std::move(process.error()));
  pipe->write_end.reset();
  const auto output = output_of(*process, pipe->read_end.get(), context, clock, plugin.command);
  if (!output) return tl::unexpected(output.error());
  if (const ExitStatus status = process->wait(); status != ExitStatus{.exit_code = 0}) {
    return failure(
        fmt::format("the credential plugin '{}' ended with {}", plugin.command, to_string(status)));
  }
  return parse_exec_credential(*output, plugin);
}

Result<ExecCredential> parse_exec_credential(const std::string& output, const ExecPlugin& plugin) {
  const auto printed = parse_json(output, fmt::format("the output of '{}'", plugin.command));
  if (!printed) return tl::unexpected(printed.error());
  ExecCredential credential{.token = text_at(*printed, {"status", "token"}),
                            .certificate_pem = text_at(*printed, {"status", "clientCertificateData"}),
                            .key_pem = text_at(*printed, {"status", "clientKeyData"}),
                            .expires = parse_timestamp(text_at(*printed, {"status", "expirationTimestamp"}))};
  if (text_at(*printed, {"kind"}) != "ExecCredential" ||
      text_at(*printed, {"apiVersion"}) != plugin.api_version ||
      (credential.token.empty() && credential.certificate_pem.empty())) {
    return failure(fmt::format("'{}' printed no ExecCredential of {} with a token or a client certificate",
                               plugin.command, plugin.api_version));
  }
  return credential;
}

}  // namespace caravan::kube
