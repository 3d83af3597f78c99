#include "service/service.h"

#include <fmt/format.h>
#include <poll.h>

#include <atomic>
#include <thread>

#include "common/process.h"
#include "common/version.h"
#include "kube/config/config_credentials.h"
#include "kube/transport/pooled_transport.h"
#include "kube/watch/informer.h"
#include "operator/api/names.h"
#include "service/metrics.h"
#include "service/rpc/json_server.h"
#include "service/rpc/rpc_server.h"
#include "serving/cluster_config.h"
#include "serving/log.h"
#include "serving/pages.h"
#include "serving/program.h"

namespace caravan::service {
namespace {

using namespace std::chrono_literals;

constexpr auto kGrace = 5s;
constexpr auto kHung = 2min;  // calls of the API server have time-outs, so nothing takes this long

kube::ClientOptions client_options(const std::string& base_path) {
  return {.user_agent = fmt::format("caravan-service/{}", version()),
          .field_manager = "caravan-service",
          .base_path = base_path,
          .call_timeout = 10s,
          .retry = {.tries = 3}};
}

class Service {
 public:
  Service(const ServiceOptions& options, kube::ClientConfig config)
      : options_(options),
        config_(std::move(config)),
        credentials_(config_, clock_),
        transport_(kube::peer_of(config_), credentials_, clock_),
        client_(transport_, credentials_, clock_, kube::system_random(), client_options(config_.base_path),
                metrics_),
        informer_(client_, clock_, kube::system_random(), metrics_,
                  {.path = {.resource = controller::kJobs, .name_space = options.name_space},
                   .keep = shown_of_job,
                   .on_list = [this](const std::string& before,
                                     const std::string& now) { jobs_.listed(before, now); }},
                  [this](const kube::Change& change) { jobs_.take(change); }),
        callers_(client_, clock_, options.audiences),
        shares_(clock_, options.shares),
        gate_(callers_, shares_, clock_, {.threads = static_cast<std::size_t>(options.workers)}),
        clients_(kube::peer_of(config_), credentials_, clock_, metrics_, client_options(config_.base_path)) {}

  Result<ExitCode> run(int signal_fd) {
    auto server = RpcServer::start({.listen = options_.listen, .tls = options_.tls}, clock_, gate_, shares_,
                                   audit_, methods_, handled_by("grpc"));
    if (!server) return tl::unexpected(server.error());
    auto json = serve_json();
    if (!json) return tl::unexpected(json.error());
    const auto pages = Pages::serve(options_.probes, options_.metrics,
                                    {.what_hangs = [this] { return what_hangs(); },
                                     .caches_are_filled = [this] { return informer_.synced(); },
                                     .metrics = [this] { return metrics_.text(informer_.store().size()); },
                                     .stops = [this] { return stops_.load(); }});
    if (!pages) return tl::unexpected(pages.error());
    (*server)->set_serving(false);
    informer_.start();
    log_line(spdlog::level::info, "the API is served", {{"port", std::to_string((*server)->port())}});
    std::jthread ready([&](const std::stop_token& stop) {
      if (informer_.wait_until_synced({.stop = stop})) (*server)->set_serving(true);
    });
    wait_for(signal_fd);
    log_line(spdlog::level::info, "stopping");
    end_at_once_on_signal(signal_fd);
    ready = {};
    (*server)->set_serving(false);
    stops_ = true;
    clock_.sleep_until(clock_.now() + std::chrono::seconds(options_.drain_seconds), {});
    if (*json) (*json)->stop(kGrace);
    (*server)->stop(kGrace);
    return ExitCode::kDone;
  }

 private:
  std::function<void(const std::string&, int, std::chrono::nanoseconds)> handled_by(
      const std::string& protocol) {
    return [this, protocol](const std::string& method, int code, std::chrono::nanoseconds took) {
      metrics_.on_handled(protocol, method, code, took);
    };
  }

  // Null where nobody wants it.
  Result<std::unique_ptr<JsonServer>> serve_json() {
    if (options_.http_listen.empty()) return nullptr;
    auto json = JsonServer::start({.listen = options_.http_listen, .tls = options_.tls}, clock_, gate_,
                                  shares_, audit_, methods_, handled_by("json"));
    if (json)
      log_line(spdlog::level::info, "the API is served over HTTP, too",
               {{"http_address", (*json)->address()}});
    return json;
  }

  static void wait_for(int signal_fd) {
    pollfd signal{signal_fd, POLLIN, 0};
    while (poll(&signal, 1, -1) < 0) {
    }
    read_signal(signal_fd);
  }

  std::optional<std::string> what_hangs() const {
    if (gate_.longest_run() > kHung) return "a call hangs";
    if (informer_.stuck_for() > kHung) return "the watch of the jobs hangs";
    return std::nullopt;
  }

  const ServiceOptions options_;
  const kube::ClientConfig config_;
  std::atomic<bool> stops_ = false;
  SystemClock clock_;
  Metrics metrics_;
  kube::ConfigCredentials credentials_;
  kube::PooledTransport transport_;
  kube::Client client_;  // with this service's own rights
  JobFeed jobs_{[this] {
                  return JobFeed::Versions{.seen = informer_.store().resource_version(),
                                           .reported = informer_.reported_version()};
                },
                options_.name_space};
  kube::Informer informer_;
  Callers callers_;
  Rights rights_{client_, clock_};
  Shares shares_;
  Gate gate_;
  Audit audit_{clock_, write_to_standard_output};
  CallerClients clients_;
  ReadMethods read_{jobs_, rights_, [this] { return informer_.synced(); }};
  WriteMethods write_{clients_, clock_};
  WatchMethods watch_{jobs_, callers_, rights_, clock_, [this] { return informer_.synced(); }, {}};
  EventMethods events_{clients_};
  LogMethods logs_{jobs_, rights_, clients_, clock_, [this] { return informer_.synced(); }, {}, {}};
  EstimateMethods estimates_{rights_, clock_};
  std::optional<OperatorLink> link_ = options_.live.address.empty()
                                          ? std::nullopt
                                          : std::optional<OperatorLink>(std::in_place, options_.live, clock_);
  CapacityMethods capacity_{rights_, clients_, link_ ? &*link_ : nullptr};
  MetricsMethods metrics_methods_{jobs_,
                                  callers_,
                                  rights_,
                                  clock_,
                                  [this] { return informer_.synced(); },
                                  link_ ? &*link_ : nullptr,
                                  {},
                                  {.of_all = 512}};
  Methods methods_{read_, write_, watch_, events_, logs_, metrics_methods_, estimates_, capacity_};
};

}  // namespace

Result<ExitCode> run_service(const ServiceOptions& options, int signal_fd) {
  if (Status tls = check_tls_files(options.tls); !tls) return tl::unexpected(tls.error());
  if (Status live = check_operator_access(options.live); !live) return tl::unexpected(live.error());
  auto config = load_cluster_config(options.kubeconfig);
  if (!config) return tl::unexpected(config.error());
  for (const std::string& warning : config->warnings) log_line(spdlog::level::warn, warning);
  Service process(options, std::move(*config));
  return process.run(signal_fd);
}

}  // namespace caravan::service
