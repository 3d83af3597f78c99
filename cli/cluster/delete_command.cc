#include <fmt/format.h>

#include <memory>
#include <vector>

#include "cli/cluster/cluster.h"
#include "cli/cluster/commands.h"

namespace caravan::cli {
namespace {

struct DeleteOptions {
  ClusterOptions cluster;
  std::vector<std::string> names;
};

Result<ExitCode> remove(const DeleteOptions& options) {
  const auto cluster = Cluster::connect(options.cluster);
  if (!cluster) return tl::unexpected(cluster.error());
  for (const std::string& name : options.names) {
    const auto job = (*cluster)->job(name);
    if (!job) return tl::unexpected(job.error());
    const auto removed = (*cluster)->remove(*job);
    if (!removed) return tl::unexpected(removed.error());
    fmt::print("job {} deleted; its checkpoints stay where they are\n", name);
  }
  return ExitCode::kDone;
}

}  // namespace

void add_delete_command(CLI::App& app, Action& action) {
  const auto options = std::make_shared<DeleteOptions>();
  CLI::App* command =
      app.add_subcommand("delete", "Deletes jobs with their pods and their record; checkpoints stay.");
  add_jobs_argument(*command, options->names);
  add_cluster_options(*command, options->cluster);
  command->callback([options, &action] { action = [options] { return remove(*options); }; });
}

}  // namespace caravan::cli
