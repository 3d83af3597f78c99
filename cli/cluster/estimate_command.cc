#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <set>

#include "cli/arguments/bounds.h"
#include "cli/arguments/choice.h"
#include "cli/cluster/cluster.h"
#include "cli/cluster/commands.h"
#include "cli/cluster/estimate_table.h"
#include "cli/load_job.h"
#include "cli/print_plan.h"
#include "cli/say.h"
#include "cli/terminal.h"
#include "cli/yaml_reader.h"
#include "common/json.h"
#include "common/standard_stream.h"
#include "operator/view/device_survey.h"
#include "operator/view/job_estimate.h"
#include "operator/view/pool_choice.h"
#include "planner/engine_profile.h"
#include "planner/explain/table.h"

namespace caravan::cli {
namespace {

struct EstimateOptions {
  ClusterOptions cluster;
  std::string path;
  std::vector<std::string> sets;
  bool all = false;
  std::vector<int> devices;  // none: the job's own number
  std::string price;         // of a device for an hour
  std::string output = "text";

  bool json() const { return output == "json"; }
  bool compares() const { return !devices.empty() || !price.empty(); }
};

using Nodes = std::vector<controller::NodeView>;

Result<Nodes> nodes_of(Cluster& cluster) {
  const auto objects = cluster.nodes();
  if (!objects) {
    Error error = objects.error();
    error.message += "; without nodes, `caravan plan` answers for devices that the job describes";
    return tl::unexpected(std::move(error));
  }
  Nodes nodes;
  for (const kube::Json& node : *objects) nodes.push_back(controller::read_node(node));
  return nodes;
}

Result<std::vector<controller::SurveyedJob>> places_for(const Nodes& nodes, const LoadedJob& loaded) {
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
  if (!room.empty() || !why.empty()) say("\n{}{}{}", room, why, why.empty() ? "" : "\n");
}

// The job's own number of devices, in the planner's words.
Result<ExitCode> explain(const EstimateOptions& options, const LoadedJob& loaded, const Nodes& nodes) {
  const auto places = places_for(nodes, loaded);
  if (!places) return tl::unexpected(places.error());
  const Choice choice = choose(*places);
  const planner::PlanAnswer answer =
      planner::answer_job(choice.place->spec, choice.place->facts, planner::default_engine_profile(),
                          {.all_candidates = options.all});
  print_warnings(answer);
  print_plan(choice.place->spec, answer, {.json = options.json(), .all = options.all});
  if (!options.json() && answer.report.candidates_size() > 0) print_room(*choice.place, choice.why);
  if (answer.error) return tl::unexpected(*answer.error);
  return ExitCode::kDone;
}

// Several numbers of devices, side by side.
struct Comparison {
  v1alpha1::EstimateJobResponse response = {};
  std::string waits = {};  // which of them there are too few devices for
};

void compare_on(const Result<LoadedJob>& loaded, int devices, const Nodes& nodes,
                const controller::EstimateWish& wish, Comparison& into) {
  v1alpha1::Estimate& estimate = *into.response.add_estimates();
  const auto places = loaded.and_then([&](const LoadedJob& job) { return places_for(nodes, job); });
  if (!places) {
    estimate = controller::refused_estimate(devices, places.error().message);
    return;
  }
  const controller::SurveyedJob& place = *choose(*places).place;
  estimate = controller::estimate(place.spec, place.facts, wish);
  if (!estimate.fits() || !place.pool || place.pool->devices >= devices) return;
  const std::string waits = fmt::format("{}: {}", count_text(devices), room_text(place));
  into.waits += fmt::format("\n{}", planner::paragraph(waits, output_width()));
}

Result<ExitCode> print_comparison(const Comparison& comparison, bool json) {
  std::set<std::string> warnings;
  bool any_fits = false;
  for (const v1alpha1::Estimate& estimate : comparison.response.estimates()) {
    any_fits = any_fits || estimate.fits();
    warnings.insert(estimate.warnings().begin(), estimate.warnings().end());
  }
  for (const std::string& warning : warnings) say(stderr, "warning: {}\n", warning);
  if (json)
    fmt::print("{}\n", to_json(comparison.response, JsonLayout::kIndented));
  else
    fmt::print("{}{}", estimate_table(comparison.response, output_width()), comparison.waits);
  if (any_fits) return ExitCode::kDone;
  return tl::unexpected(Error{"the job fits on none of these numbers of devices", ExitCode::kDoesNotFit});
}

Error in_option(const char* option, const Error& error) {
  return {fmt::format("{}: {}", option, error.message), error.code};
}

v1alpha1::EstimateJobRequest question_of(const EstimateOptions& options,
                                         const v1alpha1::LlamaTrainingJob& job) {
  v1alpha1::EstimateJobRequest question;
  *question.mutable_job() = job;
  for (const int devices : options.devices) question.add_devices(devices);
  question.set_device_hour_price(options.price);
  question.set_all_candidates(options.all);
  return question;
}

// As whoever planned for it answers.
Result<ExitCode> print_told(const EstimateOptions& options, const v1alpha1::JobSpec& spec,
                            const v1alpha1::EstimateJobResponse& told) {
  if (options.compares()) return print_comparison({told}, options.json());
  if (told.estimates().empty()) return failure("the job service has answered with no estimate");
  const v1alpha1::Estimate& estimate = told.estimates(0);
  const bool is_short = std::ranges::any_of(estimate.report().candidates(),
                                            [](const auto& candidate) { return candidate.peak_bytes() > 0; });
  planner::PlanAnswer answer{.report = estimate.report(), .error = {}};
  answer.warnings.assign(estimate.warnings().begin(), estimate.warnings().end());
  if (!estimate.fits())
    answer.error = Error{estimate.reason(), is_short ? ExitCode::kDoesNotFit : ExitCode::kBadInput};
  print_warnings(answer);
  print_plan(spec, answer, {.json = options.json(), .all = options.all});
  if (answer.error) return tl::unexpected(*answer.error);
  return ExitCode::kDone;
}

// On the nodes of the cluster.
Result<ExitCode> plan_for(const Nodes& nodes, const EstimateOptions& options, const std::string& text,
                          const LoadedJob& loaded, const controller::EstimateWish& wish) {
  if (!options.compares()) return explain(options, loaded, nodes);
  Comparison comparison;
  for (const int devices : options.devices) {
    std::vector<std::string> sets = options.sets;
    sets.push_back(fmt::format("spec.resources.devices={}", devices));
    compare_on(parse_job(text, input_name(options.path), sets), devices, nodes, wish, comparison);
  }
  if (options.devices.empty())
    compare_on(loaded, loaded.job.spec().resources().devices(), nodes, wish, comparison);
  return print_comparison(comparison, options.json());
}

Result<ExitCode> estimate(const EstimateOptions& options) {
  if (auto few = controller::check_device_counts(options.devices.size()); !few)
    return tl::unexpected(in_option("--devices", few.error()));
  const auto price = controller::parse_device_hour_price(options.price);
  if (!price) return tl::unexpected(in_option("--price", price.error()));
  const auto text = read_input(options.path);
  if (!text) return tl::unexpected(text.error());
  const auto loaded = parse_job(*text, input_name(options.path), options.sets);
  if (!loaded) return tl::unexpected(loaded.error());
  for (const std::string& note : loaded->notes) fmt::print(stderr, "{}\n", note);
  const auto cluster = Cluster::connect(options.cluster);
  if (!cluster) return tl::unexpected(cluster.error());
  const auto told = (*cluster)->estimates(question_of(options, loaded->job));
  if (!told) return tl::unexpected(told.error());
  if (*told) return print_told(options, loaded->job.spec(), **told);
  const auto nodes = nodes_of(**cluster);
  if (!nodes) return tl::unexpected(nodes.error());
  return plan_for(*nodes, options, *text, *loaded, {*price, options.all, (*cluster)->clock().wall_now()});
}

}  // namespace

void add_estimate_command(CLI::App& app, Action& action) {
  const auto options = std::make_shared<EstimateOptions>();
  CLI::App* command = app.add_subcommand(
      "estimate",
      "What the planner says of a job on the nodes of a cluster: whether it fits, memory, speed, GPU-hours.");
  command->add_option("FILE", options->path, "Job file, YAML or JSON; - is standard input")->required();
  command->add_option("--set", options->sets, "Overrule a field, such as spec.resources.devices=16")
      ->type_name("PATH=VALUE")
      ->allow_extra_args(false);
  command->add_flag("--all", options->all, "List every layout, also those that the rule would never pick");
  command
      ->add_option(
          "--devices", options->devices,
          fmt::format("Compare the job on these numbers of devices, at most {}: a table instead of one plan",
                      controller::kMostDeviceCounts))
      ->type_name("N,N")
      ->delimiter(',')
      ->check(bounds_of<v1alpha1::Resources>("devices"))
      ->allow_extra_args(false);
  command
      ->add_option("--price", options->price,
                   "What a device costs for an hour, in any currency: the table has the cost of the training")
      ->type_name("DECIMAL");
  add_output_option(*command, options->output, {"text", "json"},
                    "Text, or the planner's whole answer; of a table, the job service's EstimateJobResponse");
  add_cluster_options(*command, options->cluster);
  command->callback([options, &action] { action = [options] { return estimate(*options); }; });
}

}  // namespace caravan::cli
