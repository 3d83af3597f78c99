#include "worker/agent/options.h"

#include <CLI/CLI.hpp>
#include <filesystem>

#include "common/arguments/parse_error.h"
#include "common/host_port.h"
#include "common/random_hex.h"
#include "common/version.h"
#include "policy/failure_policy.h"

namespace caravan::agent {
namespace {

constexpr char kDescription[] =
    "Owns one node of a job: starts its ranks, watches them, restarts them in step with the other nodes, and "
    "exports metrics. The agent of node 0 also hosts the coordinator. Ends with the job's exit code.";

constexpr std::string_view kUnix = "unix:";

// HOST:PORT, [IPV6]:PORT or unix:PATH.
std::string check_address(const std::string& address) {
  if (address.starts_with(kUnix)) return address.size() > kUnix.size() ? "" : "unix: needs a path";
  return is_host_port(address) ? "" : "'" + address + "' is not HOST:PORT or unix:PATH";
}

std::string check_host_port(const std::string& address) {
  return is_host_port(address) && !address.starts_with(kUnix) ? "" : "'" + address + "' is not HOST:PORT";
}

void declare_node(CLI::App& app, AgentOptions& options) {
  app.add_option("--plan", options.plan_file, "The job's plan (JobPlan, JSON)")
      ->capture_default_str()
      ->type_name("FILE");
  app.add_option("--node", options.node, "Index of this node")
      ->envname("CARAVAN_NODE_INDEX")
      ->required()
      ->check(CLI::Range(0, 1048575));
  app.add_option("--trainer", options.trainer, "The trainer; default: caravan-trainer beside this program")
      ->type_name("PATH");
  app.add_option(
         "--work-directory", options.work_directory,
         "Where configuration and log of every rank go; default: a folder of the job under the temporary one")
      ->type_name("DIR");
  app.add_option("--threads", options.threads,
                 "Threads of one rank for tensor operations; results depend on it")
      ->capture_default_str()
      ->check(CLI::Range(1, 1024));
  app.add_option("--processors", options.processors,
                 "Processors of the machine that nobody else uses, by number: ranks share them out; default: "
                 "in a pod all, when they are as many as it asks for, and otherwise none")
      ->delimiter(',')
      ->type_name("N,...")
      ->check(CLI::Range(0, 65535));
  app.add_option("--trace-directory", options.trace_directory,
                 "Folder that gets a trace of every rank's last step; absent: none is written")
      ->type_name("DIR");
  app.add_option("--tensorboard", options.tensorboard,
                 "Folder that gets the job's curves for TensorBoard (node 0); default: in a pod, "
                 "`tensorboard` beside the job's checkpoints, and otherwise none")
      ->type_name("DIR");
  app.add_option("--incarnation", options.incarnation,
                 "Tells this process from others of the same node; default: a random one")
      ->envname("CARAVAN_POD_UID");
}

// What the coordinator must know of them.
void declare_earlier_attempts(CLI::App& app, AgentOptions& options) {
  app.add_option("--first-attempt", options.first_attempt,
                 "Number of the first attempt that it takes part in")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000000000));
  app.add_option("--restarts", options.restarts, "Restarts so far (node 0)")
      ->capture_default_str()
      ->check(CLI::Range(0, 1000000000));
  app.add_option("--counted-restarts", options.counted_restarts,
                 "Of them, those that count against failurePolicy.maxRestarts in its window (node 0)")
      ->capture_default_str()
      ->check(CLI::Range(0, 1000000000));
  app.add_option("--restart-window-age-seconds", options.window_age,
                 "How long ago that window began (node 0)")
      ->default_str("0")
      ->type_name("SECONDS");
  app.add_option(
         "--short-attempts", options.short_attempts,
         "Attempts in a row, before the first one, that were too short: the more, the longer the pause "
         "before a restart (node 0)")
      ->capture_default_str()
      ->check(CLI::Range(0, 1000000000));
  app.add_flag(
      "--losses-judged-elsewhere", options.losses_judged_elsewhere,
      "Start again after every lost node, without a budget of restarts or a deadline: whoever replaces nodes "
      "decides whether the job goes on, and may change the limits in the plan (node 0)");
  app.add_option("--elapsed-seconds", options.elapsed, "How long the job has run already (node 0)")
      ->capture_default_str()
      ->type_name("SECONDS");
}

void declare_job(CLI::App& app, AgentOptions& options) {
  app.add_option("--job-uid", options.job_uid, "Refuse a plan that is another job's")
      ->envname("CARAVAN_JOB_UID");
  app.add_flag(
         "--in-pod", options.in_pod,
         "This is the worker pod of a job; otherwise metrics get a label job, and a signal ends the job")
      ->envname("CARAVAN_IN_POD");
  app.add_option("--result-file", options.result_file, "File that gets the job's result, JSON (node 0)")
      ->type_name("FILE");
  app.add_option("--end-with-parent", options.end_with_parent,
                 "End at once when the process PID, which started this one, ends")
      ->type_name("PID")
      ->check(CLI::Range(1, 1 << 30));
}

void declare_network(CLI::App& app, AgentOptions& options) {
  const CLI::Validator address(check_address, "HOST:PORT|unix:PATH");
  const CLI::Validator host_port(check_host_port, "HOST:PORT");
  app.add_option("--coordinator", options.coordinator,
                 "Where the coordinator is; needed by all nodes but node 0 with --listen")
      ->envname("CARAVAN_COORDINATOR")
      ->check(address);
  app.add_option("--listen", options.listen,
                 "Where the coordinator listens (node 0); default: the address of --coordinator; port 0: any "
                 "free one")
      ->check(address);
  app.add_option("--coordinator-address-file", options.coordinator_address_file,
                 "File that gets the address the coordinator listens on (node 0)")
      ->type_name("FILE");
  app.add_option("--reports", options.reports,
                 "The JobReports service that gets progress and result (node 0)")
      ->check(address);
  app.add_option("--reports-authority-file", options.reports_authority_file,
                 "Authority of that service's certificate; absent: it is reached without TLS (node 0)")
      ->type_name("FILE");
  app.add_option("--reports-token-file", options.reports_token_file,
                 "Token to show that service; read again for every connection (node 0)")
      ->type_name("FILE");
  app.add_option("--tls-folder", options.tls_folder,
                 "ca.crt, tls.crt and tls.key with which agents know each other; absent: no TLS")
      ->type_name("DIR");
  app.add_option("--metrics", options.metrics, "Where /metrics and /healthz are served; absent: nowhere")
      ->check(host_port);
  app.add_option("--host", options.host, "Address under which the ranks of other nodes reach this node")
      ->capture_default_str()
      ->type_name("ADDRESS");
}

void declare_times(CLI::App& app, AgentOptions& options) {
  app.add_option("--heartbeat-milliseconds", options.heartbeat,
                 "Pause between heartbeats; the coordinator's holds for all")
      ->default_str(std::to_string(options.heartbeat.count()))
      ->type_name("MILLISECONDS");
  app.add_option(
         "--patience-milliseconds", options.patience,
         "Silence after which the coordinator gives an agent up, and an agent the coordinator, whose value "
         "holds for all; default: 20000 in a pod, three and a half heartbeats elsewhere")
      ->type_name("MILLISECONDS");
  app.add_option("--rejoin-timeout-seconds", options.rejoin_timeout,
                 "How long the job waits for a lost node, and an agent for a lost coordinator")
      ->default_str(std::to_string(options.rejoin_timeout.count()))
      ->type_name("SECONDS");
}

// What depends on more than one flag; empty when all is well.
std::string check_together(const AgentOptions& options) {
  if (options.node > 0 && options.coordinator.empty())
    return "--coordinator: is required on every node but node 0";
  if (options.node == 0 && options.coordinator.empty() && options.listen.empty()) {
    return "--listen: node 0 needs --listen or --coordinator";
  }
  if (options.node > 0 && !options.listen.empty()) return "--listen: only node 0 hosts the coordinator";
  if (!options.reports_token_file.empty() && options.reports_authority_file.empty())
    return "--reports-token-file: a token is shown over TLS only; it needs --reports-authority-file";
  if (options.heartbeat < std::chrono::milliseconds{10})
    return "--heartbeat-milliseconds: must be at least 10";
  if (options.patience.count() != 0 && options.patience < 2 * options.heartbeat)
    return "--patience-milliseconds: must be at least two heartbeats";
  if (options.rejoin_timeout < std::chrono::seconds{1}) return "--rejoin-timeout-seconds: must be at least 1";
  return "";
}

void fill_defaults(AgentOptions& options) {
  namespace fs = std::filesystem;
  if (options.patience.count() == 0)
    options.patience = options.in_pod ? policy::kPatienceInPods : patience_of(options.heartbeat);
  if (options.incarnation.empty()) options.incarnation = random_hex(128);
  if (options.node == 0 && options.listen.empty()) options.listen = options.coordinator;
  if (!options.trainer.empty()) return;
  std::error_code ignored;
  options.trainer = fs::read_symlink("/proc/self/exe", ignored).parent_path() / "caravan-trainer";
}

}  // namespace

ParsedOptions parse_options(int argc, const char* const* argv) {
  AgentOptions options;
  CLI::App app(kDescription, "caravan-agent");
  app.set_version_flag("--version", "caravan-agent " + std::string(version()));
  app.get_formatter()->column_width(42);
  declare_node(app, options);
  declare_earlier_attempts(app, options);
  declare_job(app, options);
  declare_network(app, options);
  declare_times(app, options);
  try {
    app.parse(argc, argv);
    if (const std::string problem = check_together(options); !problem.empty())
      throw CLI::ValidationError(problem);
  } catch (const CLI::ParseError& error) {
    return static_cast<ExitCode>(exit_on_parse_error(app, error));
  }
  fill_defaults(options);
  return options;
}

}  // namespace caravan::agent
