#include <memory>
#include <vector>

#include "cli/arguments/choice.h"
#include "cli/cluster/cluster.h"
#include "cli/cluster/commands.h"
#include "cli/cluster/mistakes.h"
#include "cli/cluster/print_jobs.h"

namespace caravan::cli {
namespace {

struct GetOptions {
  ClusterOptions cluster;
  std::vector<std::string> names;
  std::string output = "text";
};

Result<ExitCode> get(const GetOptions& options) {
  const auto cluster = Cluster::connect(options.cluster);
  if (!cluster) return tl::unexpected(cluster.error());
  kube::JsonArray jobs;
  const ExitCode code = with_each(options.names, [&](const std::string& name) -> ClusterResult<void> {
    auto job = (*cluster)->job(name);
    if (!job) return tl::unexpected(job.error());
    jobs.push_back(*std::move(job));
    return {};
  });
  if (jobs.empty()) return code;
  if (options.names.size() == 1) {
    print_job(jobs.front(), options.output, (*cluster)->clock());
  } else {
    print_jobs(jobs, options.output, false, (*cluster)->clock());
  }
  return code;
}

}  // namespace

void add_get_command(CLI::App& app, Action& action) {
  const auto options = std::make_shared<GetOptions>();
  CLI::App* command =
      app.add_subcommand("get", "Jobs by name: a line each, or the whole object as YAML or JSON.");
  add_jobs_argument(*command, options->names);
  add_output_option(*command, options->output, kJobForms, "Form of what is printed");
  add_cluster_options(*command, options->cluster);
  command->callback([options, &action] { action = [options] { return get(*options); }; });
}

}  // namespace caravan::cli
