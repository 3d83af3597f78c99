#include <fmt/format.h>

#include <memory>

#include "cli/arguments/choice.h"
#include "cli/cluster/cluster.h"
#include "cli/cluster/commands.h"
#include "cli/load_job.h"
#include "cli/print_plan.h"
#include "operator/view/device_survey.h"
#include "operator/view/pool_choice.h"
#include "planner/engine_profile.h"

namespace caravan::cli {
namespace {

struct Options {
  ClusterOptions cluster;
  std::string path;
  std::vector<std::string> sets;
  bool all = false;
  std::string output = "text";
};

Result<std::vector<controller::SurveyedJob>> places_for(Cluster& cluster, const LoadedJob& loaded) {
  const auto objects = cluster.nodes();
  if (!objects) {
    Error error = objects.error();
    error.message += "; without nodes, `caravan plan` answers for devices that the job describes";
    return tl::unexpected(std::move(error));
  }
  std::vector<controller::NodeView> nodes;
  for (const kube::Json& node : *objects) nodes.push_back(controller::read_node(node));
  controller::Job job;
  job.key.name = loaded.job.metadata().name();
  job.spec = loaded.job.spec();
  controller::DeviceSurvey survey = controller::survey_devices(job, nodes);
  if (survey.places.empty()) return tl::unexpected(Error{survey.problem, ExitCode::kDoesNotFit});
  return std::move(survey.places);
}

// The one that an operator takes. Where none serves, the first one, whose answer says why.
struct Choice {
  const controller::SurveyedJob* place = nullptr;
  std::string why = {};
};

Choice choose(const std::vector<controller::SurveyedJob>& places) {
  const auto chosen = controller::choose_place(places);
  if (!chosen) return {.place = &places.front()};
  return {.place = &places[chosen->place], .why = chosen->why};
}

std::string room_text(const controller::SurveyedJob& place) {
  if (!place.pool) return "";
  const int wanted = place.spec.resources().devices();
  const std::string there =
      fmt::format("Ready nodes have {} of these devices, {} a node; the job asks for {}", place.pool->devices,
                  place.pool->devices_per_node, wanted);
  return there + (place.pool->devices >= wanted ? ". What is free of them at the moment is not counted.\n"
                                                : ": it waits until there are more.\n");
}

// Below the plan.
void print_room(const controller::SurveyedJob& place, const std::string& why) {
  const std::string room = room_text(place);
  if (!room.empty() || !why.empty()) fmt::print("\n{}{}{}", room, why, why.empty() ? "" : "\n");
}

Result<ExitCode> estimate(const Options& options) {
  const auto loaded = load_job(options.path, options.sets);
  if (!loaded) return tl::unexpected(loaded.error());
  for (const std::string& note : loaded->notes) fmt::print(stderr, "{}\n", note);
  const auto cluster = Cluster::connect(options.cluster);
  if (!cluster) return tl::unexpected(cluster.error());
  const auto places = places_for(**cluster, *loaded);
  if (!places) return tl::unexpected(places.error());
  const Choice choice = choose(*places);
  const planner::PlanAnswer answer =
      planner::answer_job(choice.place->spec, choice.place->facts, planner::default_engine_profile(),
                          {.all_candidates = options.all});
  print_warnings(answer);
  const bool json = options.output == "json";
  print_plan(choice.place->spec, answer, {.json = json, .all = options.all});
  if (!json && answer.report.candidates_size() > 0) print_room(*choice.place, choice.why);
  if (answer.error) return tl::unexpected(*answer.error);
  return ExitCode::kDone;
}

}  // namespace

void add_estimate_command(CLI::App& app, Action& action) {
  const auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(
      "estimate",
      "What the planner says of a job on the nodes of a cluster: whether it fits, memory, speed, GPU-hours.");
  command->add_option("FILE", options->path, "Job file, YAML or JSON; - is standard input")->required();
  command->add_option("--set", options->sets, "Overrule a field, such as spec.resources.devices=16")
      ->type_name("PATH=VALUE")
      ->allow_extra_args(false);
  command->add_flag("--all", options->all, "List every layout, also those that the rule would never pick");
  add_output_option(*command, options->output, {"text", "json"}, "Text, or the planner's whole answer");
  add_cluster_options(*command, options->cluster);
  command->callback([options, &action] { action = [options] { return estimate(*options); }; });
}

}  // namespace caravan::cli
