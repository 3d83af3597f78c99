#include "operator/operator.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <sys/eventfd.h>

#include <array>
#include <atomic>
#include <cstdlib>

#include "common/host_port.h"
#include "common/process.h"
#include "common/version.h"
#include "kube/client/client.h"
#include "kube/config/config_credentials.h"
#include "kube/election/elector.h"
#include "kube/events/event_recorder.h"
#include "kube/queue/reconcile_loop.h"
#include "kube/transport/pooled_transport.h"
#include "operator/api/conditions.h"
#include "operator/api/job_queue.h"
#include "operator/api/names.h"
#include "operator/caches.h"
#include "operator/controller/reconciler.h"
#include "operator/health.h"
#include "operator/job_ledger.h"
#include "operator/live_service.h"
#include "operator/metrics.h"
#include "operator/queue_positions.h"
#include "operator/queue_watch.h"
#include "operator/report_service.h"
#include "operator/report_witness.h"
#include "operator/service/pool_board.h"
#include "operator/service_certificate.h"
#include "serving/cluster_config.h"
#include "serving/log.h"
#include "serving/pages.h"
#include "serving/program.h"

namespace caravan::controller {
namespace {

using namespace std::chrono_literals;

constexpr auto kFlushEvents = 2s;
constexpr auto kReleaseLease = 5s;

// The identity, so that an audit log tells which of several wrote.
kube::ClientOptions client_options(const std::string& base_path, const std::string& identity) {
  return {.user_agent = fmt::format("caravan-operator/{} ({})", version(), identity),
          .field_manager = kFieldManager,
          .status_field_manager = kStatusFieldManager,
          .base_path = base_path};
}

class Operator {
 public:
  Operator(const OperatorOptions& options, kube::ClientConfig config)
      : options_(options),
        config_(std::move(config)),
        credentials_(config_, clock_),
        transport_(kube::peer_of(config_), credentials_, clock_),
        reader_(transport_, credentials_, clock_, kube::system_random(),
                client_options(config_.base_path, identity_), metrics_),
        elector_(config_, clock_, kube::system_random(), metrics_,
                 client_options(config_.base_path, identity_), election_config()),
        client_(reader_.with(gated_options())),
        queue_(clock_, {.longest_retry = 30s, .share_of_a_namespace = std::max(1, options.workers / 2)}),
        board_(
            clock_, history_,
            [this](const Reporter& reporter) { return caches_.facts_of(reporter.job, reporter.job_uid); },
            [this](const kube::ObjectKey& key, auto after) { queue_.add_after(key, after); }),
        caches_(
            reader_, clock_, metrics_, {.name_space = options.name_space, .read_nodes = options.read_nodes},
            [this](const kube::ObjectKey& key) { on_change(key); },
            [this](const std::string& uid) { board_.forget(uid); }),
        queues_(reader_, clock_, metrics_, options.name_space,
                {.on_workload = [this](const kube::Change& change) { caches_.on_child(change); },
                 .on_change = [this] { look_at_all_jobs(); }}),
        positions_(reader_, clock_),
        events_(client_, clock_, metrics_, {.controller = kController, .instance = identity_}),
        tokens_(client_, clock_, caches_.stores().pods),
        service_certificate_(client_, clock_,
                             {.name_space = options.lease_namespace,
                              .names = options.service_names,
                              .on_authority = [this](const KeyPair& authority) {
                                return options_.live_listen.empty() ? Status() : live_.start(authority);
                              }}) {
    metrics_.set_sources({.jobs = &caches_.stores().jobs,
                          .nodes = options_.read_nodes ? &caches_.stores().nodes : nullptr,
                          .accounts = [this] { return ledger_.accounts(clock_.now()); },
                          .queue_depth = [this] { return queue_.depth(); },
                          .queue_oldest_seconds =
                              [this] { return std::chrono::duration<double>(queue_.oldest_wait()).count(); },
                          .is_leader = [this] { return elector_.may_write(); },
                          .caches = [this] { return caches_.states(); }});
  }

  Result<ExitCode> run(int signal_fd) {
    const auto pages = Pages::serve(options_.probes, options_.metrics, page_contents());
    if (!pages) return tl::unexpected(pages.error());
    caches_.start();
    UniqueFd elected(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    std::jthread election([&](const std::stop_token& stop) { take_part(stop, elected.get()); });
    const Status led = wait_for(signal_fd, elected.get()) ? lead(signal_fd) : Status();
    log_line(spdlog::level::info, "stopping");
    end_at_once_on_signal(signal_fd);
    stop(election);
    if (!led) return tl::unexpected(led.error());
    return ExitCode::kDone;
  }

 private:
  kube::ElectionConfig election_config() const {
    return {.identity = identity_,
            .lease_duration = options_.lease_duration,
            .renew_deadline = options_.renew_deadline,
            .retry_period = options_.retry_period,
            .lease = {options_.lease_namespace, options_.lease_name}};
  }

  kube::ClientOptions gated_options() {
    kube::ClientOptions options = client_options(config_.base_path, identity_);
    options.may_write = [this] { return elector_.may_write(); };
    return options;
  }

  PageContents page_contents() {
    return {.what_hangs = [this] { return what_hangs(pulse()); },
            .caches_are_filled = [this] { return caches_.synced(); },
            .metrics = [this] { return metrics_.text(); }};
  }

  Pulse pulse() const {
    return {.election_gets_on = elector_.healthy(),
            .reconcile = queue_.longest_run(),
            .cache = caches_.stuck_for(),
            .event = events_.longest_run(),
            .review = reports_.longest_review()};
  }

  // Losing the lease is final: whoever has it now acts already.
  void take_part(const std::stop_token& stop, int elected_fd) {
    const auto outcome = elector_.run(stop, [elected_fd] { eventfd_write(elected_fd, 1); });
    if (outcome != kube::Elector::Outcome::kLost) return;
    log_line(spdlog::level::err, "the lease is lost; ending at once",
             {{"lease", to_string(election_config().lease)}});
    spdlog::shutdown();
    std::_Exit(static_cast<int>(ExitCode::kJobFailed));
  }

  // True: the event came. False: a signal came first.
  static bool wait_for(int signal_fd, int event_fd) {
    std::array<pollfd, 2> events{pollfd{signal_fd, POLLIN, 0}, pollfd{event_fd, POLLIN, 0}};
    while (poll(events.data(), events.size(), -1) < 0) {
    }
    return !read_signal(signal_fd);
  }

  Status lead(int signal_fd) {
    log_line(spdlog::level::info, "leading", {{"identity", identity_}});
    Settings settings{.worker_image = options_.worker_image,
                      .reports_address = options_.reports_address,
                      .own_namespace = options_.lease_namespace,
                      .name_servers = options_.name_servers,
                      .platform_assigns_users = options_.platform_assigns_users,
                      .reads_nodes = options_.read_nodes,
                      .allow_host_network = options_.allow_host_network,
                      .cores_per_gpu = options_.cores_per_gpu,
                      .agent_patience = options_.agent_patience};
    if (!options_.reports_address.empty()) {
      auto authority = reports_.start(options_.reports_listen, options_.reports_address);
      if (!authority) return tl::unexpected(authority.error());
      settings.reports_authority = *std::move(authority);
    }
    if (!options_.service_names.empty() || !options_.live_listen.empty()) service_certificate_.start();
    start_loop(settings);
    return wait_for(signal_fd, gave_up_.get()) ? caches_missing() : Status();
  }

  Status caches_missing() const {
    return failure(fmt::format(
        "the caches of {} were not filled within {} s: without them a leader can do nothing; see the "
        "warnings "
        "above, and whether this operator may list and watch them (deploy/install.yaml has the rules)",
        fmt::join(caches_.unsynced(), ", "), options_.cache_sync.count()));
  }

  Reconciler::Outside outside_of_the_reconciler() {
    return {
        .progress = [this](const std::string& uid) { return board_.look_at(uid); },
        .forget = [this](const std::string& uid) { ledger_.forget(uid); },
        .record = [this](const Job& job, const Note& note) { tell(job, note); },
        .decided =
            [this](const Snapshot& snapshot, const Decision& decision, Clock::Duration took) {
              ledger_.look(snapshot, decision.status, clock_.now());
              if (!is_true(snapshot.job.status, conditions::kPlanned) &&
                  is_true(decision.status, conditions::kPlanned))
                metrics_.on_planned(took);
            },
        .put_off = [this] { metrics_.on_stale_cache(); },
        .ask_for_checkpoint = [this](const std::string& uid,
                                     const std::string& request) { board_.ask_for_checkpoint(uid, request); },
        .gangs_ahead = [this](const kube::ObjectKey& job) { return caches_.gangs_ahead(job); },
        .add_position = [this](const CallContext& context, const Job& job,
                               QueueView& queue) { add_position(context, job, queue); }};
  }

  // A standby never takes a job from the queue; whoever leads begins with all of them.
  void on_change(const kube::ObjectKey& job) {
    if (leads_) queue_.add(job);
  }

  void tell(const Job& job, const Note& note) {
    const bool is_bad = note.type == kube::EventType::kWarning;
    log_job(is_bad ? spdlog::level::warn : spdlog::level::info, job.key, note.text,
            {{"condition", note.action}, {"reason", note.reason}});
    events_.record({.regarding = job.reference,
                    .type = note.type,
                    .reason = note.reason,
                    .action = note.action,
                    .note = note.text});
  }

  void start_loop(const Settings& settings) {
    Caches stores = caches_.stores();
    stores.queue = &queues_.caches();
    reconciler_ =
        std::make_unique<Reconciler>(stores, client_, clock_, settings, outside_of_the_reconciler());
    loop_ = std::make_unique<kube::ReconcileLoop>(
        queue_, clock_, kube::system_random(), metrics_, kube::ReconcileOptions{.workers = options_.workers},
        [this](const CallContext& context, const kube::ObjectKey& key) {
          return reconciler_->reconcile(context, key);
        },
        [this] { return caches_.job_keys(); });
    // What they hold may be older than the last writes of the leader before.
    caches_.renew();
    log_line(spdlog::level::info, "listing anew what is in the caches");
    starter_ = std::jthread([this](const std::stop_token& stop) {
      if (!caches_.wait_until_synced({.stop = stop, .deadline = clock_.now() + options_.cache_sync})) {
        if (!stop.stop_requested()) eventfd_write(gave_up_.get(), 1);
        return;
      }
      // Not before: what is listed while the caches fill counts as changes, and would put every job in front.
      leads_ = true;
      for (const kube::ObjectKey& key : caches_.job_keys()) queue_.add(key, kube::Urgency::kBackground);
      // The others have their pods; for these somebody waits.
      for (const kube::ObjectKey& key : caches_.unplanned_job_keys()) queue_.add(key);
      loop_->start();
      queues_.start();
    });
  }

  void look_at_all_jobs() {
    for (const kube::ObjectKey& key : caches_.job_keys()) queue_.add(key, kube::Urgency::kBackground);
  }

  void add_position(const CallContext& context, const Job& job, QueueView& queue) {
    const QueuePositions::Answer answer =
        positions_.find(context, job.key.name_space, queue_of(job), queue.workload->name);
    queue.has_positions = answer.is_told;
    queue.positions_may_come = answer.may_be_told;
    queue.position = answer.position;
  }

  // The lease before the streams: whoever is at their other end cannot keep the next leader waiting.
  void stop(std::jthread& election) {
    starter_ = {};
    if (loop_) loop_->stop();
    service_certificate_.stop();
    live_.stop();
    if (elector_.may_write()) events_.flush({.deadline = clock_.now() + kFlushEvents});
    election.request_stop();
    election.join();
    const auto released = elector_.release({.deadline = clock_.now() + kReleaseLease});
    if (!released)
      log_line(spdlog::level::warn, "the lease could not be given back: " + released.error().message);
    reports_.stop();
  }

  OperatorOptions options_;
  kube::ClientConfig config_;
  const std::string identity_ = kube::process_identity();
  SystemClock clock_;
  Metrics metrics_;
  JobLedger ledger_;
  kube::ConfigCredentials credentials_;
  kube::PooledTransport transport_;
  kube::Client reader_;  // for what a standby does, too
  kube::Elector elector_;
  kube::Client client_;  // writes with the lease only
  kube::WorkQueue queue_;
  StepHistory history_;
  ProgressBoard board_;
  std::atomic<bool> leads_{false};
  WatchedCaches caches_;
  QueueWatch queues_;
  QueuePositions positions_;
  kube::EventRecorder events_;
  TokenCheck tokens_;
  PoolBoard pools_{caches_.stores().nodes, caches_.stores().pods, clock_,
                   [this] { return caches_.synced(); }};
  LiveService live_{history_, options_.read_nodes ? &pools_ : nullptr, options_.live_listen,
                    host_of(options_.reports_address)};
  ServiceCertificate service_certificate_;
  ReportWitness witness_{clock_, metrics_};
  ReportService reports_{clock_, board_, tokens_, witness_};
  std::unique_ptr<Reconciler> reconciler_;
  std::unique_ptr<kube::ReconcileLoop> loop_;
  UniqueFd gave_up_{eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};  // readable: the caches do not fill
  std::jthread starter_;
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
