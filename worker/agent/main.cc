#include <fmt/format.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "common/http_server.h"
#include "common/process.h"
#include "worker/agent/coordinator_server.h"
#include "worker/agent/job_file.h"
#include "worker/agent/metrics.h"
#include "worker/agent/node_agent.h"
#include "worker/agent/options.h"
#include "worker/agent/report_client.h"
#include "worker/agent/report_log.h"
#include "worker/agent/supervisor.h"

namespace caravan::agent {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

// How long the end of the job is held up for others to hear of it.
constexpr milliseconds kFarewell{2000};
constexpr milliseconds kAcknowledgement{5000};

// Node 0's part: the coordinator and where it reports to.
class Host {
 public:
  Status start(const v1alpha1::JobPlan& job, const AgentOptions& options) {
    if (!options.reports.empty()) {
      client_ = ReportClient::connect(options.reports, [this] { stop_job(); });
      log_.set_next(client_.get());
    }
    auto server = CoordinatorServer::start(coordinator_config(job, options), options.listen, log_);
    if (!server) return tl::unexpected(server.error());
    {
      const std::scoped_lock lock(mutex_);
      server_ = std::move(*server);
    }
    spdlog::info("the coordinator listens on {}", server_->address());
    return options.coordinator_address_file.empty() ? Status()
                                                    : write_address(options.coordinator_address_file);
  }

  const std::string& address() const { return server_->address(); }

  // Also called by the thread that reads commands, which may be early.
  void stop_job() {
    const std::scoped_lock lock(mutex_);
    if (server_) server_->request_stop();
  }

  void say_farewell() {
    server_->wait_for_agents(kFarewell);
    if (client_ && !client_->wait_for_acknowledgement(kAcknowledgement))
      spdlog::warn("nobody took the job's result");
  }

 private:
  // Whole or not at all, since somebody waits for it.
  Status write_address(const std::string& path) {
    const std::string partial = path + ".partial";
    std::ofstream(partial) << address() << '\n';
    std::error_code problem;
    fs::rename(partial, path, problem);
    if (problem)
      return bad_input(
          fmt::format("--coordinator-address-file: cannot write {}: {}", path, problem.message()));
    return {};
  }

  ReportLog log_;
  std::unique_ptr<ReportClient> client_;
  std::mutex mutex_;
  std::unique_ptr<CoordinatorServer> server_;
};

SupervisorConfig supervisor_config(const v1alpha1::JobPlan& job, const AgentOptions& options) {
  const fs::path base = options.work_directory.empty()
                            ? fs::temp_directory_path() / ("caravan-" + job.job_uid())
                            : fs::path(options.work_directory);
  return {.job = job,
          .node = options.node,
          .trainer = options.trainer,
          .host = options.host,
          .directory = fs::absolute(base) / fmt::format("node-{}", options.node),
          .threads = options.threads};
}

std::optional<HttpReply> serve_path(std::string_view path, const Metrics& metrics) {
  if (path == "/metrics") return HttpReply{"text/plain; version=0.0.4; charset=utf-8", metrics.text()};
  if (path == "/healthz") return HttpReply{"text/plain; charset=utf-8", "ok\n"};
  return std::nullopt;
}

Status check_trainer(const std::string& path) {
  if (access(path.c_str(), X_OK) == 0) return {};
  return bad_input(fmt::format("--trainer: cannot execute {}: {}", path, std::strerror(errno)));
}

Result<int> run(const AgentOptions& options, int signal_fd) {
  const auto job = read_job(options);
  if (!job) return tl::unexpected(job.error());
  if (Status usable = check_trainer(options.trainer); !usable) return tl::unexpected(usable.error());

  Metrics metrics(*job, options.node, options.job_namespace.empty());
  std::optional<HttpServer> http;
  if (!options.metrics.empty()) {
    auto server = HttpServer::start(options.metrics,
                                    [&metrics](std::string_view path) { return serve_path(path, metrics); });
    if (!server) return bad_input("--metrics: " + server.error().message);
    http = std::move(*server);
    spdlog::info("metrics at http://{}/metrics", http->address());
  }

  NodeAgentConfig config{.job_uid = job->job_uid(),
                         .node = options.node,
                         .host = options.host,
                         .coordinator = options.coordinator,
                         .rejoin_timeout = options.rejoin_timeout,
                         .heartbeat = options.heartbeat,
                         .stop_job = nullptr};
  std::optional<Host> host;
  if (options.node == 0) {
    host.emplace();
    if (Status started = host->start(*job, options); !started) return tl::unexpected(started.error());
    config.coordinator = host->address();
    config.stop_job = [&host] { host->stop_job(); };
  }

  Supervisor supervisor(supervisor_config(*job, options));
  const int exit_code = NodeAgent(std::move(config), supervisor, metrics, signal_fd).run();
  if (host) host->say_farewell();
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
  auto result =
      signals.and_then([&](const caravan::UniqueFd& fd) { return caravan::agent::run(options, fd.get()); });
  if (result) return *result;
  fmt::print(stderr, "caravan-agent: {}\n", result.error().message);
  return static_cast<int>(result.error().code);
}
