#include "service/options.h"

#include <CLI/CLI.hpp>

#include "common/arguments/number_between.h"
#include "common/arguments/parse_error.h"
#include "common/version.h"
#include "serving/options.h"

namespace caravan::service {
namespace {

constexpr char kDescription[] =
    "Serves LlamaTrainingJobs to people who write no manifests: takes jobs, shows them live, and lets nobody "
    "do what "
    "he could not do with kubectl. Always over TLS, and never without knowing who calls.";

void declare_access(CLI::App& app, ServiceOptions& options) {
  app.add_option("--tls-certificate", options.tls.certificate,
                 "Its certificate with the chain, in PEM; read again")
      ->required()
      ->type_name("FILE");
  app.add_option("--tls-key", options.tls.key, "The certificate's key, in PEM; read again")
      ->required()
      ->type_name("FILE");
  app.add_option(
         "--client-ca", options.tls.client_ca,
         "Authorities whose certificates let callers read: common name = user, organisations = groups")
      ->type_name("FILE");
  app.add_option("--audiences", options.audiences, "Tokens must be meant for one of these")
      ->delimiter(',')
      ->default_str("caravan");
  app.add_option("--requests-per-second", options.shares.requests_per_second,
                 "Of one caller, on the long run")
      ->capture_default_str()
      ->check(NumberBetween(0.1, 1e6));
  app.add_option("--burst", options.shares.burst, "Of one caller, at once")
      ->capture_default_str()
      ->check(NumberBetween(1, 1e6));
  app.add_option("--streams", options.shares.streams, "Of one caller, open at once")
      ->capture_default_str()
      ->check(CLI::Range(1, 10'000));
}

void declare_operator(CLI::App& app, OperatorAccess& live) {
  app.add_option("--operator", live.address,
                 "Where the operator tells how training goes; absent: there are no metrics here")
      ->check(host_port_check());
  app.add_option("--operator-ca", live.authority, "Who signed the operator's certificate, in PEM; read again")
      ->type_name("FILE");
  app.add_option("--operator-certificate", live.certificate,
                 "The certificate to show the operator, in PEM; read again")
      ->type_name("FILE");
  app.add_option("--operator-key", live.key, "That certificate's key, in PEM; read again")->type_name("FILE");
}

void declare_serving(CLI::App& app, ServiceOptions& options) {
  const CLI::Validator host_port = host_port_check();
  app.add_option("--kubeconfig", options.kubeconfig,
                 "How to reach the API server, in JSON; absent: as the pod that this runs in")
      ->type_name("FILE");
  app.add_option("--namespace", options.name_space, "Serve the jobs of this namespace only")
      ->envname("CARAVAN_NAMESPACE");
  app.add_option("--listen", options.listen, "Where the API is served, over gRPC")
      ->capture_default_str()
      ->check(host_port);
  app.add_option("--http-listen", options.http_listen,
                 "Where it is served as JSON over HTTP too, with the same certificate; absent: nowhere")
      ->check(host_port);
  app.add_option("--workers", options.workers, "Calls that wait for the API server at once")
      ->capture_default_str()
      ->check(CLI::Range(1, 256));
  app.add_option("--drain-seconds", options.drain_seconds,
                 "Told to end, it is not ready, and takes calls for so long")
      ->envname("CARAVAN_DRAIN_SECONDS")
      ->capture_default_str()
      ->check(CLI::Range(0, 600));
  declare_operator(app, options.live);
  declare_pages_and_log(app, options.probes, options.metrics, options.log_level);
}

}  // namespace

ParsedOptions parse_options(int argc, const char* const* argv) {
  ServiceOptions options;
  CLI::App app(kDescription, "caravan-service");
  app.set_version_flag("--version", "caravan-service " + std::string(version()));
  app.get_formatter()->column_width(42);
  declare_serving(app, options);
  declare_access(app, options);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return static_cast<ExitCode>(exit_on_parse_error(app, error));
  }
  return options;
}

}  // namespace caravan::service
