#include <fmt/format.h>

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

struct SuspendOptions {
  ClusterOptions cluster;
  std::vector<std::string> names;
};

// What the job says of it already; empty: it is to be changed.
Result<std::string> why_not(const kube::Json& object, bool suspend) {
  const controller::Job job = controller::read_job_but_spec(object);
  if (end_of(job.status)) {
    return bad_input(fmt::format("job {} has ended ({}); there is nothing to {}", job.key.name,
                                 job.status.state(), suspend ? "suspend" : "resume"));
  }
  if (kube::flag_at(object, {"spec", "suspend"}) != suspend) return "";
  return suspend ? "is suspended already" : "is not suspended";
}

ClusterResult<void> set_suspended(Cluster& cluster, const std::string& name, bool suspend) {
  const auto job = cluster.job(name);
  if (!job) return tl::unexpected(job.error());
  const auto already = why_not(*job, suspend);
  if (!already) return tl::unexpected(ClusterError{already.error()});
  if (!already->empty()) {
    say("job {} {}\n", name, *already);
    return {};
  }
  const auto changed = cluster.set_suspended(name, suspend);
  if (!changed) return tl::unexpected(changed.error());
  say("job {} {}\n", name,
      suspend ? "is being suspended: its pods end, behind a checkpoint where it writes any"
              : "goes on as soon as there are machines for it");
  return {};
}

Result<ExitCode> set_all_suspended(const SuspendOptions& options, bool suspend) {
  const auto cluster = Cluster::connect(options.cluster);
  if (!cluster) return tl::unexpected(cluster.error());
  return with_each(options.names,
                   [&](const std::string& name) { return set_suspended(**cluster, name, suspend); });
}

void add_command(CLI::App& app, Action& action, bool suspend) {
  const auto options = std::make_shared<SuspendOptions>();
  CLI::App* command =
      suspend
          ? app.add_subcommand("suspend", "Takes a job's pods away, behind a checkpoint; it can be resumed.")
          : app.add_subcommand("resume", "Lets a suspended job go on.");
  add_jobs_argument(*command, options->names);
  add_cluster_options(*command, options->cluster);
  command->callback([options, suspend, &action] {
    action = [options, suspend] { return set_all_suspended(*options, suspend); };
  });
}

}  // namespace

void add_suspend_command(CLI::App& app, Action& action) {
  add_command(app, action, true);
}

void add_resume_command(CLI::App& app, Action& action) {
  add_command(app, action, false);
}

}  // namespace caravan::cli
