#include "operator/options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <regex>

#include "common/arguments/parse_error.h"
#include "common/host_port.h"
#include "common/version.h"
#include "serving/options.h"

namespace caravan::controller {
namespace {

constexpr char kDescription[] =
    "Runs LlamaTrainingJobs on Kubernetes: plans them, makes and replaces their pods, and shows their "
    "progress. Of several of these, one leads and the others wait. `caravan-operator check` looks whether "
    "that works.";
constexpr char kCheckDescription[] =
    "Looks whether an operator is ready and leads, and whether the API server takes a job; keeps nothing.";

// Addresses as a NetworkPolicy takes them, such as "10.0.0.10/32".
bool is_cidr(const std::string& text) {
  const auto slash = text.find('/');
  if (slash == std::string::npos || !is_ip_address(text.substr(0, slash))) return false;
  unsigned bits = 0;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data() + slash + 1, end, bits);
  const unsigned most = text.find(':') == std::string::npos ? 32U : 128U;
  return read.ec == std::errc() && read.ptr == end && bits <= most;
}

NameServers read_name_servers(const std::string& text) {
  static const std::regex kPods(
      "([a-z0-9][a-z0-9-]*)/([A-Za-z0-9][A-Za-z0-9._/-]*)=([A-Za-z0-9][A-Za-z0-9._-]*)");
  std::smatch parts;
  if (std::regex_match(text, parts, kPods))
    return {.name_space = parts.str(1), .label = parts.str(2), .value = parts.str(3)};
  if (is_cidr(text)) return {.addresses = text};
  throw CLI::ValidationError("--dns", "'" + text + "' is neither ADDRESS/BITS nor NAMESPACE/LABEL=VALUE");
}

// Of a DNS name or an IP address.
CLI::Validator host_name_check() {
  return {[](const std::string& name) {
            static const std::regex kDnsName("[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?");
            return is_ip_address(name) || std::regex_match(name, kDnsName)
                       ? ""
                       : "'" + name + "' is neither a DNS name nor an IP address";
          },
          "", "host name"};
}

void declare_worker_pods(CLI::App& app, OperatorOptions& options) {
  app.add_option_function<std::vector<std::string>>(
         "--dns",
         [&options](const std::vector<std::string>& all) {
           options.name_servers.clear();
           for (const std::string& each : all) options.name_servers.push_back(read_name_servers(each));
         },
         "Who resolves names for worker pods, which reach nobody else outside their job; may be repeated")
      ->type_name("ADDRESS/BITS|NAMESPACE/LABEL=VALUE")
      ->default_str("those of kubeadm and most clouds, of OpenShift, and NodeLocal DNSCache");
  app.add_flag("--assigned-users", options.platform_assigns_users,
               "The platform assigns worker pods their users and groups, as OpenShift does");
  app.add_flag("--allow-host-network", options.allow_host_network,
               "Let jobs use the network of their nodes (worker.hostNetwork); with the admission policies, "
               "in namespaces labelled training.caravan.dev/host-network=enabled only");
  app.add_option("--cores-per-gpu", options.cores_per_gpu,
                 "Cores that a worker pod asks for with each GPU when its job does not say; 0: none")
      ->capture_default_str()
      ->check(CLI::Range(0, 64));
  app.add_option(
         "--agent-patience-seconds", options.agent_patience,
         "How long the agents of a job's pods may hear nothing of each other before the job is restarted "
         "without the silent one; for pods that are made from now on")
      ->default_str(std::to_string(options.agent_patience.count()))
      ->check(CLI::Range(3, 3600))
      ->type_name("SECONDS");
}

void declare_kubeconfig(CLI::App& app, std::string& kubeconfig) {
  app.add_option("--kubeconfig", kubeconfig,
                 "How to reach the API server, in JSON; absent: as the pod that this runs in")
      ->type_name("FILE");
}

void declare_cluster(CLI::App& app, OperatorOptions& options) {
  declare_kubeconfig(app, options.kubeconfig);
  app.add_option("--namespace", options.name_space, "Serve the jobs of this namespace only")
      ->envname("CARAVAN_NAMESPACE");
  app.add_option(
         "--read-nodes", options.read_nodes,
         "Read devices from the nodes for jobs that do not describe them; needs rights on the cluster")
      ->default_str("true");
  app.add_option("--lease-namespace", options.lease_namespace, "Where the lease of the leader is")
      ->envname("CARAVAN_POD_NAMESPACE")
      ->capture_default_str();
  app.add_option("--lease-name", options.lease_name, "Its name")->capture_default_str();
  const CLI::Range seconds(1, 86400);
  app.add_option("--lease-seconds", options.lease_duration,
                 "How long others wait for a leader that is silent")
      ->default_str(std::to_string(options.lease_duration.count()))
      ->check(seconds)
      ->type_name("SECONDS");
  app.add_option("--renew-seconds", options.renew_deadline, "How long a leader that cannot renew goes on")
      ->default_str(std::to_string(options.renew_deadline.count()))
      ->check(seconds)
      ->type_name("SECONDS");
  app.add_option("--retry-seconds", options.retry_period, "Pause between two tries")
      ->default_str(std::to_string(options.retry_period.count()))
      ->check(seconds)
      ->type_name("SECONDS");
  app.add_option("--cache-sync-seconds", options.cache_sync,
                 "A leader whose caches are not filled gives up when nothing has come for them for that long")
      ->default_str(std::to_string(options.cache_sync.count()))
      ->check(seconds)
      ->type_name("SECONDS");
  app.add_option("--workers", options.workers, "Jobs that are looked after at once")
      ->capture_default_str()
      ->check(CLI::Range(1, 64));
}

void declare_serving(CLI::App& app, OperatorOptions& options) {
  const CLI::Validator host_port = host_port_check();
  app.add_option("--worker-image", options.worker_image, "Image of worker pods whose job names none")
      ->envname("CARAVAN_WORKER_IMAGE")
      ->required();
  app.add_option("--worker-image-cuda", options.worker_image_cuda,
                 "The same of those on GPUs; absent: that of --worker-image")
      ->envname("CARAVAN_WORKER_IMAGE_CUDA");
  app.add_option("--reports-listen", options.reports_listen, "Where reports of running jobs are taken")
      ->capture_default_str()
      ->check(host_port);
  app.add_option("--reports-address", options.reports_address,
                 "Where worker pods find that; absent: jobs report nothing")
      ->envname("CARAVAN_REPORTS_ADDRESS")
      ->check(host_port);
  app.add_option(
         "--service-names", options.service_names,
         "DNS names and IP addresses under which the job service is called: keep a certificate for them in "
         "the Secret caravan-service-certificate, and who signed it in the ConfigMap caravan-service-root")
      ->delimiter(',')
      ->type_name("NAME,...")
      ->check(host_name_check());
  app.add_option("--live-listen", options.live_listen,
                 "Where the job service hears of steps, under the host of --reports-address: keep the "
                 "certificate with which it comes in the same Secret; absent: it hears nothing")
      ->check(host_port)
      ->needs("--reports-address");
  declare_pages_and_log(app, options.probes, options.metrics, options.log_level);
}

// As kube/election/election.h wants them.
void check_election(const OperatorOptions& options) {
  if (options.renew_deadline >= options.lease_duration)
    throw CLI::ValidationError("--renew-seconds",
                               fmt::format("{} s must be less than --lease-seconds, {} s",
                                           options.renew_deadline.count(), options.lease_duration.count()));
  if (5 * options.renew_deadline <= 6 * options.retry_period)
    throw CLI::ValidationError("--retry-seconds",
                               fmt::format("1.2 times {} s must be less than --renew-seconds, {} s",
                                           options.retry_period.count(), options.renew_deadline.count()));
}

// A program of its own to CLI11, since it needs nothing of what the operator does.
ParsedOptions parse_check(int argc, const char* const* argv) {
  CheckOptions options;
  CLI::App app(kCheckDescription, "caravan-operator check");
  declare_kubeconfig(app, options.kubeconfig);
  app.add_option("--namespace", options.name_space, "Where the operator is")->capture_default_str();
  app.add_flag("--service", options.has_service, "Ask for a replica of the job service that is ready, too");
  app.add_option("--seconds", options.patience, "How long it may take to be ready and to lead")
      ->default_str(std::to_string(options.patience.count()))
      ->check(CLI::Range(0, 3600))
      ->type_name("SECONDS");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return static_cast<ExitCode>(exit_on_parse_error(app, error));
  }
  return options;
}

}  // namespace

ParsedOptions parse_options(int argc, const char* const* argv) {
  if (argc > 1 && std::string_view(argv[1]) == "check") return parse_check(argc - 1, argv + 1);
  OperatorOptions options;
  CLI::App app(kDescription, kOperator);
  app.set_version_flag("--version", "caravan-operator " + std::string(version()));
  app.get_formatter()->column_width(42);
  declare_cluster(app, options);
  declare_serving(app, options);
  declare_worker_pods(app, options);
  try {
    app.parse(argc, argv);
    check_election(options);
  } catch (const CLI::ParseError& error) {
    return static_cast<ExitCode>(exit_on_parse_error(app, error));
  }
  return options;
}

Settings settings_of(const OperatorOptions& options) {
  return {.worker_image = options.worker_image,
          .worker_image_cuda = options.worker_image_cuda,
          .reports_address = options.reports_address,
          .own_namespace = options.lease_namespace,
          .name_servers = options.name_servers,
          .platform_assigns_users = options.platform_assigns_users,
          .reads_nodes = options.read_nodes,
          .allow_host_network = options.allow_host_network,
          .cores_per_gpu = options.cores_per_gpu,
          .agent_patience = options.agent_patience};
}

}  // namespace caravan::controller
