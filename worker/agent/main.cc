#include <fmt/format.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>

#include "common/process.h"
#include "common/refusal.h"
#include "http/server.h"
#include "worker/agent/host.h"
#include "worker/agent/job_file.h"
#include "worker/agent/metrics.h"
#include "worker/agent/node_agent.h"
#include "worker/agent/options.h"
#include "worker/agent/succession.h"
#include "worker/agent/supervisor.h"
#include "worker/agent/tls.h"

namespace caravan::agent {
namespace {

namespace fs = std::filesystem;

SupervisorConfig supervisor_config(const v1alpha1::JobPlan& job, const AgentOptions& options) {
  const fs::path base = options.work_directory.empty()
                            ? fs::temp_directory_path() / ("caravan-" + job.job_uid())
                            : fs::path(options.work_directory);
  return {.job = job,
          .node = options.node,
          .trainer = options.trainer,
          .directory = fs::absolute(base) / fmt::format("node-{}", options.node),
          .ranks = {
              .host = options.host, .threads = options.threads, .trace_directory = options.trace_directory}};
}

std::optional<http::Reply> serve_path(std::string_view path, const Metrics& metrics) {
  if (path == "/metrics") return http::Reply{"text/plain; version=0.0.4; charset=utf-8", metrics.text()};
  if (path == "/healthz") return http::Reply{"text/plain; charset=utf-8", "ok\n"};
  return std::nullopt;
}

// Node 0 need not ask the name service for itself; the certificate is for the name that others use.
CoordinatorAddress own_coordinator(const std::string& address, const AgentOptions& options,
                                   const std::optional<TlsIdentity>& identity) {
  if (!identity) return {.where = address};
  const std::string name = options.coordinator.substr(0, options.coordinator.rfind(':'));
  return {
      .where = "localhost" + address.substr(address.rfind(':')), .identity = identity, .verified_name = name};
}

Succession::Config succession_config(const v1alpha1::JobPlan& job, const AgentOptions& options,
                                     const std::optional<TlsIdentity>& identity) {
  return {.coordinator = options.coordinator,
          .identity = identity,
          .job_uid = job.job_uid(),
          .incarnation = options.incarnation,
          .first_attempt = options.first_attempt};
}

// As the kubelet would that cannot be told to, and at once: a second signal waits for no checkpoint.
void end_this_pod() {
  kill(getpid(), SIGTERM);
  kill(getpid(), SIGINT);
}

Status check_trainer(const std::string& path) {
  if (access(path.c_str(), X_OK) == 0) return {};
  return bad_input(fmt::format("--trainer: cannot execute {}: {}", path, std::strerror(errno)));
}

Result<int> run(const AgentOptions& options, int signal_fd) {
  const auto job = read_job(options);
  if (!job) return tl::unexpected(job.error());
  if (Status usable = check_trainer(options.trainer); !usable) return tl::unexpected(usable.error());

  std::optional<TlsIdentity> identity;
  if (!options.tls_folder.empty()) {
    auto read = read_identity(options.tls_folder);
    if (!read) return tl::unexpected(read.error());
    identity = std::move(*read);
  }

  // There a signal ends a pod, which is replaced, and not the job.
  const bool in_pod = !options.job_namespace.empty();
  Metrics metrics(*job, options.node, !in_pod);
  std::optional<http::Server> served;
  if (!options.metrics.empty()) {
    auto server = http::Server::start(
        options.metrics, [&metrics](std::string_view path) { return serve_path(path, metrics); });
    if (!server) return tl::unexpected(Error{"--metrics: " + server.error().message, server.error().code});
    served = std::move(*server);
    spdlog::info("metrics at http://{}/metrics", served->address());
  }

  NodeAgentConfig config{.job_uid = job->job_uid(),
                         .node = options.node,
                         .nodes = job->nodes(),
                         .host = options.host,
                         .coordinator = {.where = options.coordinator, .identity = identity},
                         .first_attempt = options.first_attempt,
                         .incarnation = options.incarnation,
                         .rejoin_timeout = options.rejoin_timeout,
                         .heartbeat = options.heartbeat,
                         .patience = options.patience,
                         .stop_job = nullptr};
  std::optional<Host> host;
  std::optional<Succession> succession;
  if (options.node == 0) {
    host.emplace();
    if (Status started = host->start(*job, options, identity); !started)
      return tl::unexpected(started.error());
    config.coordinator = own_coordinator(host->address(), options, identity);
    if (!in_pod) config.stop_job = [&host] { host->stop_job(); };
    if (in_pod) succession.emplace(succession_config(*job, options, identity), addresses_of, end_this_pod);
  }

  Supervisor supervisor(supervisor_config(*job, options));
  const int exit_code = NodeAgent(std::move(config), supervisor, metrics, signal_fd).run();
  const bool job_goes_on = in_pod && (exit_code == static_cast<int>(ExitCode::kInterrupted) ||
                                      exit_code == static_cast<int>(ExitCode::kLeft));
  if (host && job_goes_on) host->tell_the_rest();
  if (host && !job_goes_on) host->say_farewell();
  return exit_code;
}

}  // namespace
}  // namespace caravan::agent

int main(int argc, char** argv) {
  using caravan::ExitCode;
  const caravan::agent::ParsedOptions parsed = caravan::agent::parse_options(argc, argv);
  if (const auto* done = std::get_if<ExitCode>(&parsed)) return static_cast<int>(*done);
  const auto& options = std::get<caravan::agent::AgentOptions>(parsed);

  if (options.end_with_parent != 0) caravan::end_with_parent(options.end_with_parent);
  setenv("GRPC_VERBOSITY", "NONE", 0);  // failures are told in our own words
  std::signal(SIGPIPE, SIG_IGN);
  spdlog::set_default_logger(spdlog::stderr_color_mt(fmt::format("agent-{}", options.node)));
  spdlog::set_pattern("%Y-%m-%dT%H:%M:%S.%e %l %n: %v");

  // Before any thread is there, so that all of them leave the signals to the descriptor.
  const auto signals = caravan::signals_as_descriptor({SIGINT, SIGTERM});
  const auto result = signals.and_then([&](const caravan::UniqueFd& fd) {
    return caravan::unless_refused([&] { return caravan::agent::run(options, fd.get()); });
  });
  if (result) return *result;
  fmt::print(stderr, "caravan-agent: {}\n", result.error().message);
  return static_cast<int>(result.error().code);
}
