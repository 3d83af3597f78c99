#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "cli/cluster/cluster.h"
#include "cli/cluster/commands.h"
#include "cli/cluster/durations.h"
#include "cli/say.h"
#include "cli/terminal.h"
#include "common/utf8.h"
#include "operator/api/job_object.h"
#include "report_text/console_style.h"

namespace caravan::cli {
namespace {

// Followed at once, each with a connection of its own.
constexpr std::size_t kMostFollowed = 64;

struct LogsOptions {
  ClusterOptions cluster;
  std::string name;
  std::optional<int> rank;
  bool all = false;
  bool follow = false;
  std::string since;
  std::optional<int> tail;
};

class Printer {
 public:
  // node: nothing when there is one only.
  void print(std::string_view line, std::optional<int> node) {
    const std::lock_guard guard(mutex_);
    const std::string shown = readable(line, line.size());
    fmt::print("{}{}\n", node ? paint(fmt::format("[node {}] ", *node), Colour::kDim, style_) : "", shown);
    std::fflush(stdout);
  }

 private:
  ConsoleStyle style_ = style_for(terminal_facts(STDOUT_FILENO));
  std::mutex mutex_;
};

Result<std::vector<int>> nodes_asked_for(Cluster& cluster, const LogsOptions& options) {
  const auto object = cluster.job(options.name);
  if (!object) return tl::unexpected(object.error());
  const controller::Job job = controller::read_job(*object);
  if (options.rank) {
    const int devices = job.spec.resources().devices();
    if (*options.rank < 0 || *options.rank >= devices)
      return bad_input(fmt::format("--rank: job {} has the ranks 0 to {}", options.name, devices - 1));
    const int per_node = controller::ranks_per_node(job);
    if (per_node == 0)
      return bad_input(
          fmt::format("--rank: job {} is not planned yet, so no node has that rank", options.name));
    return std::vector{*options.rank / per_node};
  }
  if (!options.all) return std::vector{0};
  auto nodes = cluster.nodes_with_log(*object);
  if (!nodes) return tl::unexpected(nodes.error());
  if (nodes->empty()) return std::vector{0};
  if (options.follow && nodes->size() > kMostFollowed) {
    return bad_input(
        fmt::format("--all --follow: job {} has {} pods, and {} are followed at once at most; "
                    "name one with --rank",
                    options.name, nodes->size(), kMostFollowed));
  }
  return *std::move(nodes);
}

// One pod's trouble keeps nobody from reading the others; the first is the command's end.
Status read_all(Cluster& cluster, const std::vector<int>& nodes, LogQuestion question, Printer& printer) {
  Status first = {};
  for (const int node : nodes) {
    question.node = node;
    const auto shown = nodes.size() > 1 ? std::optional(node) : std::nullopt;
    const Status read =
        cluster.read_log(question, [&](std::string_view line) { printer.print(line, shown); });
    if (read) continue;
    if (first) {
      first = read;
    } else {
      say(stderr, "{}\n", read.error().message);
    }
  }
  return first;
}

// A thread for each, since each waits for its pod.
Status follow_all(Cluster& cluster, const std::vector<int>& nodes, const LogQuestion& question,
                  Printer& printer) {
  std::vector<Status> ends(nodes.size());
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      threads.emplace_back([&, i, mine = question]() mutable {
        mine.node = nodes[i];
        ends[i] = cluster.read_log(mine, [&](std::string_view line) { printer.print(line, mine.node); });
      });
    }
  }
  for (Status& end : ends) {
    if (!end) return end;
  }
  return {};
}

Result<ExitCode> print_logs(const LogsOptions& options) {
  LogQuestion question{
      .job = options.name, .rank = options.rank, .tail = options.tail, .follow = options.follow};
  if (!options.since.empty()) {
    const auto since = parse_duration(options.since, "--since");
    if (!since) return tl::unexpected(since.error());
    question.since = *since;
  }
  const auto cluster = Cluster::connect(options.cluster);
  if (!cluster) return tl::unexpected(cluster.error());
  const auto nodes = nodes_asked_for(**cluster, options);
  if (!nodes) return tl::unexpected(nodes.error());
  Printer printer;
  const Status read = options.follow && nodes->size() > 1 ? follow_all(**cluster, *nodes, question, printer)
                                                          : read_all(**cluster, *nodes, question, printer);
  if (!read) return tl::unexpected(read.error());
  return ExitCode::kDone;
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
  command->callback([options, &action] { action = [options] { return print_logs(*options); }; });
}

}  // namespace caravan::cli
