#include <fmt/format.h>

#include <memory>

#include "cli/arguments/choice.h"
#include "cli/cluster/cluster.h"
#include "cli/cluster/commands.h"
#include "cli/cluster/documents.h"
#include "cli/cluster/job_events.h"
#include "cli/terminal.h"
#include "kube/api/object.h"

namespace caravan::cli {
namespace {

struct EventsOptions {
  ClusterOptions cluster;
  std::string name;
  std::string output = "text";
};

Result<ExitCode> print_events(const EventsOptions& options) {
  const auto cluster = Cluster::connect(options.cluster);
  if (!cluster) return tl::unexpected(cluster.error());
  const auto job = (*cluster)->job(options.name);
  if (!job) return tl::unexpected(job.error());
  auto events = (*cluster)->events_of(*job);
  if (!events) return tl::unexpected(events.error());
  if (options.output == "text") {
    std::vector<controller::EventView> views;
    for (const kube::Json& event : *events) views.push_back(controller::read_event(event));
    if (views.empty())
      fmt::print(stderr, "job {} has no events; the server keeps them for an hour\n", options.name);
    fmt::print("{}", event_table(views, (*cluster)->clock().wall_now(), output_width()));
    return ExitCode::kDone;
  }
  kube::JsonArray items;
  for (kube::Json& event : *events) items.push_back(kube::without_managed_fields(std::move(event)));
  const kube::JsonObject list{{"apiVersion", "v1"}, {"kind", "List"}, {"items", std::move(items)}};
  fmt::print("{}", options.output == "json" ? json_text(list) : yaml_text(list));
  return ExitCode::kDone;
}

}  // namespace

void add_events_command(CLI::App& app, Action& action) {
  const auto options = std::make_shared<EventsOptions>();
  CLI::App* command = app.add_subcommand("events", "What happened to a job and its pods, the oldest first.");
  add_job_argument(*command, options->name);
  add_output_option(*command, options->output, {"text", "json", "yaml"}, "Form of what is printed");
  add_cluster_options(*command, options->cluster);
  command->callback([options, &action] { action = [options] { return print_events(*options); }; });
}

}  // namespace caravan::cli
