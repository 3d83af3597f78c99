#include <memory>
#include <vector>

#include "cli/cluster/cluster.h"
#include "cli/cluster/commands.h"
#include "cli/cluster/mistakes.h"
#include "cli/say.h"

namespace caravan::cli {
namespace {

struct DeleteOptions {
  ClusterOptions cluster;
  std::vector<std::string> names;
};

ClusterResult<void> remove(Cluster& cluster, const std::string& name) {
  const auto job = cluster.job(name);
  if (!job) return tl::unexpected(job.error());
  const auto removed = cluster.remove(*job);
  if (!removed) return tl::unexpected(removed.error());
  say("job {} deleted; its checkpoints stay where they are\n", name);
  return {};
}

Result<ExitCode> delete_jobs(const DeleteOptions& options) {
  const auto cluster = Cluster::connect(options.cluster);
  if (!cluster) return tl::unexpected(cluster.error());
  return with_each(options.names, [&](const std::string& name) { return remove(**cluster, name); });
}

}  // namespace

void add_delete_command(CLI::App& app, Action& action) {
  const auto options = std::make_shared<DeleteOptions>();
  CLI::App* command =
      app.add_subcommand("delete", "Deletes jobs with their pods and their record; checkpoints stay.");
  add_jobs_argument(*command, options->names);
  add_cluster_options(*command, options->cluster);
  command->callback([options, &action] { action = [options] { return delete_jobs(*options); }; });
}

}  // namespace caravan::cli
