#include <memory>
#include <vector>

#include "cli/cluster/cluster.h"
#include "cli/cluster/commands.h"
#include "cli/cluster/job_news.h"
#include "cli/cluster/mistakes.h"
#include "cli/say.h"
#include "operator/api/job_object.h"

namespace caravan::cli {
namespace {

struct CancelOptions {
  ClusterOptions cluster;
  std::vector<std::string> names;
};

ClusterResult<void> cancel(Cluster& cluster, const std::string& name) {
  const auto job = cluster.job(name);
  if (!job) return tl::unexpected(job.error());
  const v1alpha1::JobStatus status = controller::read_job_but_spec(*job).status;
  if (end_of(status)) {
    say("job {} has ended already ({})\n", name, status.state());
    return {};
  }
  const auto cancelled = cluster.cancel(name);
  if (!cancelled) return tl::unexpected(cancelled.error());
  say("job {} is being cancelled: it ends for good, and its record stays\n", name);
  return {};
}

Result<ExitCode> cancel_jobs(const CancelOptions& options) {
  const auto cluster = Cluster::connect(options.cluster);
  if (!cluster) return tl::unexpected(cluster.error());
  return with_each(options.names, [&](const std::string& name) { return cancel(**cluster, name); });
}

}  // namespace

void add_cancel_command(CLI::App& app, Action& action) {
  const auto options = std::make_shared<CancelOptions>();
  CLI::App* command = app.add_subcommand(
      "cancel", "Ends a job for good; its record and its checkpoints stay, unlike with delete.");
  add_jobs_argument(*command, options->names);
  add_cluster_options(*command, options->cluster);
  command->callback([options, &action] { action = [options] { return cancel_jobs(*options); }; });
}

}  // namespace caravan::cli
