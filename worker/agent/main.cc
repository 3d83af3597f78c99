#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <memory>

#include "common/environment.h"
#include "common/host_port.h"
#include "common/process.h"
#include "common/processors.h"
#include "common/refusal.h"
#include "common/visible_gpus.h"
#include "http/server.h"
#include "http/texts.h"
#include "worker/agent/gpu_monitor.h"
#include "worker/agent/host.h"
#include "worker/agent/job_file.h"
#include "worker/agent/log_sink.h"
#include "worker/agent/metrics.h"
#include "worker/agent/node_agent.h"
#include "worker/agent/options.h"
#include "worker/agent/pinning.h"
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
  return {
      .job = job,
      .node = options.node,
      .trainer = options.trainer,
      .directory = fs::absolute(base) / fmt::format("node-{}", options.node),
      .ranks = {.host = options.host, .threads = options.threads, .trace_directory = options.trace_directory},
      .processors = processors_of_ranks(job, options, allowed_processors()),
      .trims_logs = options.in_pod};
}

// Of a job on CPUs nobody asks, and a driver that tells nothing is no reason not to train.
std::optional<GpuMonitor> gpu_monitor(const v1alpha1::JobPlan& job) {
  if (job.spec().resources().device().kind() == v1alpha1::Device::CPU) return std::nullopt;
  Result<GpuMonitor> monitor = GpuMonitor::open(GpuMonitor::kLibrary, visible_gpus());
  if (monitor) return *std::move(monitor);
  spdlog::info("no metrics of GPUs: {}", monitor.error().message);
  return std::nullopt;
}

// Both outlive the server.
struct Measured {
  Metrics& metrics;
  std::optional<GpuMonitor>& gpus;

  std::string text() const {
    if (gpus) metrics.observe(gpus->read());
    return metrics.text();
  }
};

std::optional<http::Reply> serve_path(std::string_view path, const Measured& measured) {
  if (path == "/metrics") return http::Reply{http::kMetricsText, measured.text()};
  if (path == "/healthz") return http::Reply{http::kPlainText, "ok\n"};
  return std::nullopt;
}

// Node 0 need not ask the name service for itself; the certificate is for the name that others use.
CoordinatorAddress own_coordinator(const std::string& address, const AgentOptions& options,
                                   const std::optional<TlsIdentity>& identity) {
  if (!identity) return {.where = address};
  return {.where = "localhost:" + port_of(address),
          .identity = identity,
          .verified_name = host_of(options.coordinator)};
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

Result<std::optional<TlsIdentity>> identity_of(const AgentOptions& options) {
  if (options.tls_folder.empty()) return std::nullopt;
  return read_identity(options.tls_folder).map([](TlsIdentity read) {
    return std::optional(std::move(read));
  });
}

// Nothing where nobody wants them, nor in a pod whose port of the machine is taken, by what is no pod.
Result<std::optional<http::Server>> serve_metrics(const AgentOptions& options, const Measured& measured) {
  if (options.metrics.empty()) return std::nullopt;
  auto server = http::Server::start(options.metrics, http::serve_texts([measured](std::string_view path) {
                                      return serve_path(path, measured);
                                    }));
  if (!server && options.in_pod) {
    spdlog::warn(
        "this pod trains without metrics: {}; with hostNetwork the port is its machine's: give what listens "
        "there, such as dcgm-exporter as a service of the system, another one",
        server.error().message);
    return std::nullopt;
  }
  if (!server) return tl::unexpected(Error{"--metrics: " + server.error().message, server.error().code});
  spdlog::info("metrics at http://{}/metrics", server->address());
  return std::optional(*std::move(server));
}

NodeAgentConfig node_agent_config(const v1alpha1::JobPlan& job, const AgentOptions& options,
                                  const std::optional<TlsIdentity>& identity) {
  return {.job_uid = job.job_uid(),
          .node = options.node,
          .nodes = job.nodes(),
          .host = options.host,
          .coordinator = {.where = options.coordinator,
                          .identity = identity,
                          .connect_timeout = connect_timeout_of(options.patience)},
          .first_attempt = options.first_attempt,
          .incarnation = options.incarnation,
          .rejoin_timeout = options.rejoin_timeout,
          .heartbeat = options.heartbeat,
          .patience = options.patience,
          .stop_job = nullptr};
}

// What every node does, until the job ends or this agent leaves it.
struct Node {
  const v1alpha1::JobPlan& job;
  const AgentOptions& options;
  Metrics& metrics;
  int signal_fd;

  int run(NodeAgentConfig config) const {
    Supervisor supervisor(supervisor_config(job, options));
    return NodeAgent(std::move(config), supervisor, metrics, signal_fd).run();
  }
};

bool leaves_the_job(const AgentOptions& options, int exit_code) {
  return options.in_pod && (exit_code == static_cast<int>(ExitCode::kInterrupted) ||
                            exit_code == static_cast<int>(ExitCode::kLeft));
}

// Node 0 has the coordinator as well.
Result<int> run_first(const Node& node, NodeAgentConfig config, const std::optional<TlsIdentity>& identity) {
  Host host;
  if (Status started = host.start(node.job, node.options, identity); !started)
    return tl::unexpected(started.error());
  config.coordinator = own_coordinator(host.address(), node.options, identity);
  std::optional<Succession> succession;
  if (node.options.in_pod) {
    succession.emplace(succession_config(node.job, node.options, identity), addresses_of, end_this_pod);
  } else {
    config.stop_job = [&host] { host.stop_job(); };
  }
  const int exit_code = node.run(std::move(config));
  if (leaves_the_job(node.options, exit_code)) {
    host.tell_the_rest();
  } else {
    host.say_farewell();
  }
  return exit_code;
}

Result<int> run(const AgentOptions& options, int signal_fd) {
  const auto job = read_job(options);
  if (!job) return tl::unexpected(job.error());
  if (Status usable = check_trainer(options.trainer); !usable) return tl::unexpected(usable.error());
  if (const std::string shortage = shortage_of_processors(*job, options, usable_processors());
      !shortage.empty())
    spdlog::warn("{}", shortage);
  const auto identity = identity_of(options);
  if (!identity) return tl::unexpected(identity.error());
  Metrics metrics(*job, options.node, !options.in_pod);
  std::optional<GpuMonitor> gpus = gpu_monitor(*job);
  const auto served = serve_metrics(options, {metrics, gpus});
  if (!served) return tl::unexpected(served.error());

  const Node node{*job, options, metrics, signal_fd};
  NodeAgentConfig config = node_agent_config(*job, options, *identity);
  return options.node == 0 ? run_first(node, std::move(config), *identity) : node.run(std::move(config));
}

}  // namespace
}  // namespace caravan::agent

int main(int argc, char** argv) {
  using caravan::ExitCode;
  // Before any thread is there, so that all of them leave the signals to the descriptor, and before all else:
  // the first process of a pod never hears of a signal that came before it asked.
  const auto signals = caravan::signals_as_descriptor({SIGINT, SIGTERM});
  const caravan::agent::ParsedOptions parsed = caravan::agent::parse_options(argc, argv);
  if (const auto* done = std::get_if<ExitCode>(&parsed)) return static_cast<int>(*done);
  const auto& options = std::get<caravan::agent::AgentOptions>(parsed);

  if (options.end_with_parent != 0) caravan::end_with_parent(options.end_with_parent);
  caravan::set_up_grpc();
  // A rank of a data parallel axis of a thousand has a connection to each other.
  caravan::allow_all_open_files();
  // Of the ranks' threads, which sleep while they wait: spinning made steps ten times slower on a busy
  // machine.
  setenv("OMP_WAIT_POLICY", "PASSIVE", 0);
  std::signal(SIGPIPE, SIG_IGN);
  const auto log = std::make_shared<caravan::agent::LogSink>(STDERR_FILENO);
  spdlog::set_default_logger(std::make_shared<spdlog::logger>(fmt::format("agent-{}", options.node), log));
  spdlog::set_pattern("%Y-%m-%dT%H:%M:%S.%e %l %n: %v");

  const auto result = signals.and_then([&](const caravan::UniqueFd& fd) {
    return caravan::unless_refused([&] { return caravan::agent::run(options, fd.get()); });
  });
  log->finish();
  if (result) return *result;
  spdlog::set_pattern("caravan-agent: %v");
  spdlog::error("{}", result.error().message);
  return static_cast<int>(result.error().code);
}
