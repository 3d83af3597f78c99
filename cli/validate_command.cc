#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cli/arguments/choice.h"
#include "cli/check_layout.h"
#include "cli/commands.h"
#include "cli/load_job.h"
#include "cli/shape_of_folder.h"
#include "common/json.h"
#include "common/standard_stream.h"

namespace caravan::cli {
namespace {

struct ValidateOptions {
  std::vector<std::string> paths;
  std::vector<std::string> sets;
  std::string output = "text";
};

void print_notes(const std::string& name, const LoadedJob& loaded) {
  for (const std::string& note : loaded.notes) fmt::print(stderr, "{}\n", note);
  for (const std::string& path : loaded.cluster_only) {
    fmt::print(stderr, "{}: {}: matters on a cluster only; caravan run ignores it\n", name, path);
  }
}

Status validate_file(const std::string& path, const ValidateOptions& options) {
  const std::string name = input_name(path);
  Result<LoadedJob> loaded = load_job(path, options.sets);
  if (!loaded) return tl::unexpected(loaded.error());
  v1alpha1::JobSpec& spec = *loaded->job.mutable_spec();
  if (Status taken = take_shape_of_folder(spec); !taken)
    return bad_input(fmt::format("{}: {}", name, taken.error().message));
  if (Status runs = check_layout(name, spec); !runs) return runs;
  print_notes(name, *loaded);
  if (options.output == "json") {
    fmt::print("{}\n", to_json(loaded->job, JsonLayout::kIndented));
  } else {
    fmt::print("{}: valid\n", name);
  }
  return {};
}

// A mistake keeps no other file from being looked at.
Result<ExitCode> validate(const ValidateOptions& options) {
  std::vector<std::string> mistakes;
  for (const std::string& path : options.paths) {
    if (Status valid = validate_file(path, options); !valid)
      mistakes.push_back(std::move(valid.error().message));
  }
  if (!mistakes.empty()) return bad_input(fmt::format("{}", fmt::join(mistakes, "\n")));
  return ExitCode::kDone;
}

}  // namespace

void add_validate_command(CLI::App& app, Action& action) {
  const auto options = std::make_shared<ValidateOptions>();
  CLI::App* command = app.add_subcommand("validate", "Checks job files and reports every mistake at once.");
  command->add_option("FILE", options->paths, "Job files, YAML or JSON; - is standard input")->required();
  command->add_option("--set", options->sets, "Overrule a field, such as spec.training.steps=100")
      ->type_name("PATH=VALUE")
      ->allow_extra_args(false);
  add_output_option(*command, options->output, {"text", "json"},
                    "The verdict, or each job with its defaults");
  command->callback([options, &action] { action = [options] { return validate(*options); }; });
}

}  // namespace caravan::cli
