#include "operator/operator.h"

#include <fmt/format.h>
#include <poll.h>

#include <array>
#include <optional>

#include "common/process.h"
#include "common/version.h"
#include "kube/client/client.h"
#include "kube/config/config_credentials.h"
#include "kube/events/event_recorder.h"
#include "kube/transport/pooled_transport.h"
#include "operator/api/names.h"
#include "operator/health.h"
#include "operator/job_ledger.h"
#include "operator/job_loop.h"
#include "operator/job_watch.h"
#include "operator/leader_services.h"
#include "operator/leadership.h"
#include "operator/metrics.h"
#include "serving/cluster_config.h"
#include "serving/log.h"
#include "serving/pages.h"
#include "serving/program.h"

namespace caravan::controller {
namespace {

constexpr std::chrono::seconds kFlushEvents{2};

kube::ElectionConfig election_config(const OperatorOptions& options, const std::string& identity) {
  return {.identity = identity,
          .lease_duration = options.lease_duration,
          .renew_deadline = options.renew_deadline,
          .retry_period = options.retry_period,
          .lease = {options.lease_namespace, options.lease_name}};
}

LeaderServices::Config services_config(const OperatorOptions& options) {
  return {.name_space = options.lease_namespace,
          .reports_listen = options.reports_listen,
          .reports_address = options.reports_address,
          .live_listen = options.live_listen,
          .service_names = options.service_names,
          .read_nodes = options.read_nodes};
}

// True: the event came. False: a signal came first.
bool wait_for(int signal_fd, int event_fd) {
  std::array<pollfd, 2> events{pollfd{signal_fd, POLLIN, 0}, pollfd{event_fd, POLLIN, 0}};
  while (poll(events.data(), events.size(), -1) < 0) {
  }
  return !read_signal(signal_fd);
}

class Operator {
 public:
  Operator(const OperatorOptions& options, kube::ClientConfig config)
      : options_(options),
        config_(std::move(config)),
        leadership_(config_, clock_, metrics_, client_options(), election_config(options, identity_)),
        credentials_(config_, clock_),
        transport_(kube::peer_of(config_), credentials_, clock_),
        reader_(transport_, credentials_, clock_, kube::system_random(), client_options(), metrics_),
        client_(reader_.with(gated_options())),
        jobs_(
            reader_, clock_, metrics_,
            {.name_space = options.name_space, .read_nodes = options.read_nodes, .workers = options.workers}),
        events_(client_, clock_, metrics_, {.controller = kController, .instance = identity_}),
        services_(client_, clock_, metrics_, jobs_, services_config(options)) {
    metrics_.set_sources(metrics_sources());
  }

  Result<ExitCode> run(int signal_fd) {
    const auto pages = Pages::serve(options_.probes, options_.metrics, page_contents());
    if (!pages) return tl::unexpected(pages.error());
    jobs_.start();
    leadership_.start();
    const Status led = wait_for(signal_fd, leadership_.elected_fd()) ? lead(signal_fd) : Status();
    log_line(spdlog::level::info, "stopping");
    end_at_once_on_signal(signal_fd);
    stop();
    if (!led) return tl::unexpected(led.error());
    return ExitCode::kDone;
  }

 private:
  // The identity, so that an audit log tells which of several wrote.
  kube::ClientOptions client_options() const {
    return {.user_agent = fmt::format("caravan-operator/{} ({})", version(), identity_),
            .field_manager = kFieldManager,
            .status_field_manager = kStatusFieldManager,
            .base_path = config_.base_path};
  }

  kube::ClientOptions gated_options() const {
    kube::ClientOptions options = client_options();
    options.may_write = [this] { return leadership_.may_write(); };
    return options;
  }

  Metrics::Sources metrics_sources() {
    return {.jobs = &jobs_.stores().jobs,
            .nodes = options_.read_nodes ? &jobs_.stores().nodes : nullptr,
            .accounts = [this] { return ledger_.accounts(clock_.now()); },
            .queue_depth = [this] { return jobs_.queue().depth(); },
            .queue_oldest_seconds =
                [this] { return std::chrono::duration<double>(jobs_.queue().oldest_wait()).count(); },
            .is_leader = [this] { return leadership_.may_write(); },
            .caches = [this] { return jobs_.cache_states(); }};
  }

  PageContents page_contents() {
    return {.what_hangs = [this] { return what_hangs(pulse()); },
            .caches_are_filled = [this] { return jobs_.caches().synced(); },
            .metrics = [this] { return metrics_.text(); }};
  }

  Pulse pulse() {
    return {.election_gets_on = leadership_.gets_on(),
            .reconcile = jobs_.queue().longest_run(),
            .cache = jobs_.stuck_for(),
            .event = events_.longest_run(),
            .review = services_.longest_review()};
  }

  // Until a signal comes.
  Status lead(int signal_fd) {
    log_line(spdlog::level::info, "leading", {{"identity", identity_}});
    auto reports_authority = services_.start();
    if (!reports_authority) return tl::unexpected(reports_authority.error());
    Settings settings = settings_of(options_);
    settings.reports_authority = *std::move(reports_authority);
    loop_.emplace(
        jobs_, client_, clock_, metrics_, ledger_, events_,
        JobLoop::Config{
            .settings = std::move(settings), .workers = options_.workers, .cache_sync = options_.cache_sync});
    return wait_for(signal_fd, loop_->gave_up_fd()) ? loop_->caches_missing() : Status();
  }

  // The lease before the streams: whoever is at their other end cannot keep the next leader waiting.
  void stop() {
    loop_.reset();
    services_.stop_live();
    if (leadership_.may_write()) events_.flush({.deadline = clock_.now() + kFlushEvents});
    leadership_.give_back();
    services_.stop_reports();
  }

  OperatorOptions options_;
  kube::ClientConfig config_;
  const std::string identity_ = kube::process_identity();
  SystemClock clock_;
  Metrics metrics_;
  JobLedger ledger_;
  Leadership leadership_;  // which the transport's thread asks
  kube::ConfigCredentials credentials_;
  kube::PooledTransport transport_;
  kube::Client reader_;  // for what a standby does, too
  kube::Client client_;  // writes with the lease only
  JobWatch jobs_;
  kube::EventRecorder events_;
  LeaderServices services_;
  std::optional<JobLoop> loop_;  // of the leader
};

}  // namespace

Result<ExitCode> run_operator(const OperatorOptions& options, int signal_fd) {
  auto config = load_cluster_config(options.kubeconfig);
  if (!config) return tl::unexpected(config.error());
  for (const std::string& warning : config->warnings) log_line(spdlog::level::warn, warning);
  Operator process(options, std::move(*config));
  return process.run(signal_fd);
}

}  // namespace caravan::controller
