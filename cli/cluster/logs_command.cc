#include <memory>
#include <optional>
#include <string>

#include "cli/cluster/cluster.h"
#include "cli/cluster/commands.h"
#include "cli/cluster/durations.h"
#include "cli/cluster/log_printer.h"

namespace caravan::cli {
namespace {

struct LogsOptions {
  ClusterOptions cluster;
  std::string name;
  std::optional<int> rank;
  bool all = false;
  bool follow = false;
  std::string since;
  std::optional<int> tail;
};

Result<ExitCode> logs(const LogsOptions& options) {
  WantedLogs wanted{
      .question = {.job = options.name, .rank = options.rank, .tail = options.tail, .follow = options.follow},
      .all_nodes = options.all};
  if (!options.since.empty()) {
    const auto since = parse_duration(options.since, "--since");
    if (!since) return tl::unexpected(since.error());
    wanted.question.since = *since;
  }
  const auto cluster = Cluster::connect(options.cluster);
  if (!cluster) return tl::unexpected(cluster.error());
  return print_logs(**cluster, wanted);
}

}  // namespace

void add_logs_command(CLI::App& app, Action& action) {
  const auto options = std::make_shared<LogsOptions>();
  CLI::App* command = app.add_subcommand(
      "logs", "What a job's pods write: node 0, which tells of the steps, or a rank, or all.");
  add_job_argument(*command, options->name);
  CLI::Option* rank = command->add_option("--rank", options->rank, "Only what this rank prints");
  command->add_flag("--all", options->all, "All pods, each line with its node")->excludes(rank);
  command->add_flag("-f,--follow", options->follow, "Go on, through restarts, until the job ends");
  command->add_option("--since", options->since, "Not what is older, such as 90s, 15m or 2h")
      ->type_name("DURATION");
  command->add_option("--tail", options->tail, "The last lines only")->check(CLI::Range(0, 1 << 30));
  add_cluster_options(*command, options->cluster);
  command->callback([options, &action] { action = [options] { return logs(*options); }; });
}

}  // namespace caravan::cli
