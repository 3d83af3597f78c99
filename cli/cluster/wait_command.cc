#include <fmt/format.h>

#include <memory>

#include "cli/arguments/choice.h"
#include "cli/cluster/cluster.h"
#include "cli/cluster/commands.h"
#include "cli/cluster/durations.h"
#include "cli/cluster/follow_job.h"
#include "operator/api/names.h"

namespace caravan::cli {
namespace {

namespace conditions = controller::conditions;

struct WaitOptions {
  ClusterOptions cluster;
  std::string name;
  std::string what = "end";
  std::string timeout;
  bool quiet = false;
};

std::string condition_of(const std::string& what) {
  if (what == "planned") return conditions::kPlanned;
  if (what == "scheduled") return conditions::kScheduled;
  if (what == "running") return conditions::kRunning;
  return what == "suspended" ? conditions::kSuspended : "";
}

Result<ExitCode> wait(const WaitOptions& options) {
  Awaited awaited{.condition = condition_of(options.what), .quiet = options.quiet};
  if (!options.timeout.empty()) {
    const auto timeout = parse_duration(options.timeout, "--timeout");
    if (!timeout) return tl::unexpected(timeout.error());
    awaited.timeout = *timeout;
  }
  const auto cluster = Cluster::connect(options.cluster);
  if (!cluster) return tl::unexpected(cluster.error());
  return follow_job(**cluster, options.name, awaited);
}

}  // namespace

void add_wait_command(CLI::App& app, Action& action) {
  const auto options = std::make_shared<WaitOptions>();
  CLI::App* command =
      app.add_subcommand("wait",
                         "Follows a job to its end, and ends with its exit code.\n"
                         "0: complete. 1: failed. 3: it fits on no node. 124: --timeout is over.");
  add_job_argument(*command, options->name);
  command->add_option("--for", options->what, "What is waited for")
      ->check(one_of({"end", "planned", "scheduled", "running", "suspended"}))
      ->type_name("STATE");
  command
      ->add_option("--timeout", options->timeout,
                   "Wait no longer than that, such as 90s, 15m or 2h; default: to the end")
      ->type_name("DURATION");
  command->add_flag("-q,--quiet", options->quiet, "Tell the outcome only");
  add_cluster_options(*command, options->cluster);
  command->callback([options, &action] { action = [options] { return wait(*options); }; });
}

}  // namespace caravan::cli
