#include "cli/cluster/options.h"

#include "cli/completion/command_tree.h"

namespace caravan::cli {
namespace {

void add_service_options(CLI::App& command, ServiceOptions& options) {
  command
      .add_option("--server", options.address,
                  "Ask the job service at this HOST:PORT ($CARAVAN_SERVER), not the API server")
      ->type_name("ADDRESS")
      ->envname(kServerVariable);
  command
      .add_option("--server-root", options.root_file,
                  "Authority of its certificate ($CARAVAN_ROOT_FILE); without it fetched by the kubeconfig")
      ->type_name("FILE")
      ->envname(kRootVariable);
  command
      .add_option(
          "--server-name", options.server_name,
          "Name in its certificate ($CARAVAN_SERVER_NAME), as through a port-forward; without it the host")
      ->type_name("NAME")
      ->envname(kServerNameVariable);
  command
      .add_option("--token-file", options.token_file,
                  "Token for it ($CARAVAN_TOKEN_FILE); without it $CARAVAN_TOKEN, or the kubeconfig's own")
      ->type_name("FILE")
      ->envname(kTokenFileVariable);
}

}  // namespace

void add_cluster_options(CLI::App& command, ClusterOptions& options) {
  command.add_option("-n,--namespace", options.name_space, "Namespace; without it the context's")
      ->type_name("NAME");
  add_kubeconfig_options(command, options);
  add_service_options(command, options.service);
}

void add_kubeconfig_options(CLI::App& command, ClusterOptions& options) {
  command.add_option("--context", options.context, "Context of the kubeconfig; without it the current one")
      ->type_name("NAME");
  command.add_option("--kubeconfig", options.kubeconfig, "Instead of $KUBECONFIG or ~/.kube/config")
      ->type_name("FILE");
}

CLI::Option* add_job_argument(CLI::App& command, std::string& name) {
  return command.add_option(kJobArgument, name, "Name of the job")->required()->type_name(kTypeOfJobs);
}

CLI::Option* add_jobs_argument(CLI::App& command, std::vector<std::string>& names) {
  return command.add_option(kJobArgument, names, "Names of jobs")->required()->type_name(kTypeOfJobs);
}

}  // namespace caravan::cli
