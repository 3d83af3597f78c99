#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <memory>

#include "cli/cluster/cluster.h"
#include "cli/cluster/commands.h"
#include "cli/cluster/job_news.h"
#include "cli/cluster/job_table.h"
#include "cli/say.h"
#include "cli/terminal.h"

namespace caravan::cli {
namespace {

constexpr const char* kClearScreen = "\x1b[H\x1b[2J";

struct TopOptions {
  ClusterOptions cluster;
  bool everywhere = false;
  bool ended = false;
  bool once = false;
  int seconds = 2;
};

std::string picture(const kube::JsonArray& objects, const TopOptions& options, Clock& clock) {
  std::vector<controller::Job> jobs;
  for (const kube::Json& object : objects) {
    controller::Job job = controller::read_job_but_spec(object);
    if (options.ended || !end_of(job.status)) jobs.push_back(std::move(job));
  }
  if (jobs.empty())
    return fmt::format("no job {}\n",
                       options.ended ? "is there" : "is under way; --ended shows those that have ended");
  return job_table(jobs, {.wide = true, .with_namespace = options.everywhere, .now = clock.wall_now()});
}

// Redrawn on a terminal until the user ends it; else once.
Result<ExitCode> show(const TopOptions& options) {
  const auto cluster = Cluster::connect(options.cluster);
  if (!cluster) return tl::unexpected(cluster.error());
  Clock& clock = (*cluster)->clock();
  const bool is_live = !options.once && style_for(terminal_facts(STDOUT_FILENO)).progress_bar;
  std::string last;
  while (true) {
    const auto jobs = (*cluster)->jobs(options.everywhere, {});
    if (!jobs && (last.empty() || !jobs.error().is_outage())) return tl::unexpected(jobs.error());
    if (jobs) last = picture(*jobs, options, clock);
    fmt::print("{}{}", is_live ? kClearScreen : "", last);
    if (!is_live) return ExitCode::kDone;
    if (!jobs) say("\nThat is how it was last: {}\n", jobs.error().message);
    fmt::print("\nevery {} s; in brackets what was predicted; Ctrl-C ends this\n", options.seconds);
    std::fflush(stdout);
    clock.sleep_until(clock.now() + std::chrono::seconds(options.seconds), {});
  }
}

}  // namespace

void add_top_command(CLI::App& app, Action& action) {
  const auto options = std::make_shared<TopOptions>();
  CLI::App* command = app.add_subcommand(
      "top", "The jobs under way, live: step, loss, MFU, tokens/s, memory, beside what was predicted.");
  command->add_flag("-A,--all-namespaces", options->everywhere, "Those of all namespaces");
  command->add_flag("--ended", options->ended, "Also those that have ended");
  command->add_flag("--once", options->once, "Print the table once, as where there is no terminal");
  command->add_option("--interval", options->seconds, "Seconds between two looks")
      ->capture_default_str()
      ->check(CLI::Range(1, 3600));
  add_cluster_options(*command, options->cluster);
  command->callback([options, &action] { action = [options] { return show(*options); }; });
}

}  // namespace caravan::cli
