#include "cli/cluster/options.h"

#include "cli/completion/command_tree.h"

namespace caravan::cli {

void add_cluster_options(CLI::App& command, ClusterOptions& options) {
  command.add_option("-n,--namespace", options.name_space, "Namespace; without it the context's")
      ->type_name("NAME");
  add_kubeconfig_options(command, options);
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
