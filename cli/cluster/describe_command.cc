#include <fmt/format.h>

#include <memory>

#include "cli/arguments/choice.h"
#include "cli/cluster/cluster.h"
#include "cli/cluster/commands.h"
#include "cli/cluster/job_description.h"
#include "cli/cluster/job_facts.h"
#include "cli/cluster/print_jobs.h"
#include "cli/terminal.h"

namespace caravan::cli {
namespace {

struct DescribeOptions {
  ClusterOptions cluster;
  std::string name;
  std::string output = "text";
};

Result<ExitCode> describe(const DescribeOptions& options) {
  const auto cluster = Cluster::connect(options.cluster);
  if (!cluster) return tl::unexpected(cluster.error());
  const auto object = (*cluster)->job(options.name);
  if (!object) return tl::unexpected(object.error());
  if (options.output != "text") {
    print_job(*object, options.output, (*cluster)->clock());
    return ExitCode::kDone;
  }
  fmt::print("{}", describe_job(read_facts(**cluster, *object), output_width()));
  return ExitCode::kDone;
}

}  // namespace

void add_describe_command(CLI::App& app, Action& action) {
  const auto options = std::make_shared<DescribeOptions>();
  CLI::App* command = app.add_subcommand(
      "describe", "All about a job: its story, its plan, what was predicted and what is, pods, events.");
  add_job_argument(*command, options->name);
  add_output_option(*command, options->output, {"text", "json", "yaml"}, "The story, or the object");
  add_cluster_options(*command, options->cluster);
  command->callback([options, &action] { action = [options] { return describe(*options); }; });
}

}  // namespace caravan::cli
