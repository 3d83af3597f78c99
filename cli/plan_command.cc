#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/arguments/bounds.h"
#include "cli/arguments/choice.h"
#include "cli/arguments/device_option.h"
#include "cli/commands.h"
#include "cli/load_devices.h"
#include "cli/load_job.h"
#include "cli/load_profile.h"
#include "cli/print_plan.h"
#include "cli/run/device_facts.h"
#include "cli/run/machine.h"
#include "cli/shape_of_folder.h"
#include "cli/terminal.h"
#include "common/json.h"
#include "planner/engine_profile.h"
#include "planner/explain/explain.h"
#include "planner/explain/picture.h"
#include "planner/explain/why.h"
#include "planner/plan.h"

namespace caravan::cli {
namespace {

struct PlanOptions {
  std::string path;
  std::vector<std::string> sets;
  std::optional<int> devices;
  std::optional<int> devices_per_node;
  std::string device;
  std::string device_catalogue;
  std::string engine_profile;
  std::optional<std::string> why;
  bool all = false;
  std::string output = "text";
};

Result<std::vector<planner::DeviceProduct>> own_products(const PlanOptions& options) {
  if (options.device_catalogue.empty()) return {};
  return load_devices(options.device_catalogue);
}

// The options are short for fields of the job; what --set says of the device is of the one that --device
// names.
Result<std::vector<std::string>> overrides(const PlanOptions& options,
                                           const std::vector<planner::DeviceProduct>& own) {
  std::vector<std::string> sets;
  if (!options.device.empty()) {
    auto device = device_overrides(options.device, own);
    if (!device) return device;
    sets = *std::move(device);
  }
  sets.insert(sets.end(), options.sets.begin(), options.sets.end());
  if (options.devices) sets.push_back(fmt::format("spec.resources.devices={}", *options.devices));
  if (options.devices_per_node)
    sets.push_back(fmt::format("spec.resources.devicesPerNode={}", *options.devices_per_node));
  return sets;
}

// Looked at only where the job is for this machine.
Result<planner::DeviceFacts> facts_of_machine(const v1alpha1::Resources& resources) {
  if (resources.device().kind() != v1alpha1::Device::CPU) return planner::DeviceFacts{};
  return inspect_machine().map([&](const Machine& machine) { return device_facts(resources, machine); });
}

Result<ExitCode> print_why(const v1alpha1::JobSpec& spec, const planner::DeviceFacts& facts,
                           const planner::EngineProfile& profile, const PlanOptions& options) {
  const auto answer = planner::explain_layout(spec, facts, profile, *options.why, output_width());
  if (!answer) return tl::unexpected(answer.error());
  print_warnings(answer->warnings);
  if (options.output == "json") {
    fmt::print("{}\n", to_json(answer->candidate, JsonLayout::kIndented));
  } else {
    fmt::print("{}", answer->text);
  }
  return ExitCode::kDone;
}

Result<ExitCode> print_picture(const v1alpha1::JobSpec& spec, const planner::DeviceFacts& facts,
                               const planner::EngineProfile& profile) {
  const auto picture = planner::draw_plan(spec, facts, profile);
  if (!picture) return tl::unexpected(picture.error());
  fmt::print("{}", *picture);
  return ExitCode::kDone;
}

Result<ExitCode> plan(const PlanOptions& options) {
  const auto own = own_products(options);
  if (!own) return tl::unexpected(own.error());
  const auto sets = overrides(options, *own);
  if (!sets) return tl::unexpected(sets.error());
  auto loaded = load_job(options.path, *sets);
  if (!loaded) return tl::unexpected(loaded.error());
  for (const std::string& note : loaded->notes) fmt::print(stderr, "{}\n", note);
  const auto profile = options.engine_profile.empty() ? planner::default_engine_profile()
                                                      : load_profile(options.engine_profile);
  if (!profile) return tl::unexpected(profile.error());
  Status taken = take_shape_of_folder(*loaded->job.mutable_spec());
  if (!taken) return tl::unexpected(taken.error());
  const v1alpha1::JobSpec& spec = loaded->job.spec();
  auto facts = facts_of_machine(spec.resources());
  if (!facts) return tl::unexpected(facts.error());
  facts->own_products = *own;

  if (options.why) return print_why(spec, *facts, *profile, options);
  const planner::PlanAnswer answer =
      planner::answer_job(spec, *facts, *profile, {.all_candidates = options.all});
  print_warnings(answer);
  if (options.output != "svg")
    print_plan(spec, answer, {.json = options.output == "json", .all = options.all});
  if (answer.error) return tl::unexpected(*answer.error);
  if (options.output == "svg") return print_picture(spec, *facts, *profile);
  return ExitCode::kDone;
}

}  // namespace

void add_plan_command(CLI::App& app, Action& action) {
  const auto options = std::make_shared<PlanOptions>();
  CLI::App* command = app.add_subcommand(
      "plan",
      "Picks the parallel layout of a job, predicts its memory and speed, and says why. Starts nothing.");
  command->add_option("FILE", options->path, "Job file, YAML or JSON; - is standard input")->required();
  command->add_option("--devices", options->devices, "Overrule spec.resources.devices")
      ->check(bounds_of<v1alpha1::Resources>("devices"));
  command
      ->add_option("--devices-per-node", options->devices_per_node, "Overrule spec.resources.devicesPerNode")
      ->check(bounds_of<v1alpha1::Resources>("devicesPerNode"));
  command
      ->add_option("--device", options->device,
                   "Plan for this instead of spec.resources.device: cpu, or a product that `caravan devices` "
                   "lists, or the catalogue")
      ->type_name("NAME");
  command
      ->add_option("--device-catalogue", options->device_catalogue,
                   "Your own hardware, a YAML file: products that Caravan does not know, or other numbers")
      ->type_name("FILE");
  command->add_option("--engine-profile", options->engine_profile, "Constants of another engine, a YAML file")
      ->type_name("FILE");
  command->add_option("--set", options->sets, "Overrule a field, such as spec.training.sequenceLength=4096")
      ->type_name("PATH=VALUE")
      ->allow_extra_args(false);
  command
      ->add_option_function<std::string>(
          "--why", [options](const std::string& question) { options->why = question; },
          "Explain one layout instead, such as tensor=4,pipeline=2: its memory, its time, its price")
      ->type_name("LAYOUT");
  command->add_flag(
      "--all", options->all,
      "List every layout, also those that the rule would never pick; V-schedules only where they may win");
  add_output_option(*command, options->output, {"text", "json", "svg"},
                    "Text, JSON, or a picture: what every stage does when, and what it holds");
  command->callback([options, &action] {
    if (options->why && options->output == "svg")
      throw CLI::ValidationError("--why: is answered in text or json; the picture is of the whole plan");
    action = [options] { return plan(*options); };
  });
}

}  // namespace caravan::cli
