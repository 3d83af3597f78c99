#include <fmt/format.h>

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
#include "common/json.h"
#include "common/standard_stream.h"

namespace caravan::cli {
namespace {

struct Options {
  std::string path;
  std::vector<std::string> sets;
  std::string output = "text";
};

void print_notes(const Options& options, const LoadedJob& loaded) {
  for (const std::string& note : loaded.notes) fmt::print(stderr, "{}\n", note);
  for (const std::string& path : loaded.cluster_only) {
    fmt::print(stderr, "{}: {}: matters on a cluster only; caravan run ignores it\n",
               input_name(options.path), path);
  }
}

Result<LoadedJob> load_and_check(const Options& options) {
  return load_job(options.path, options.sets).and_then([&](LoadedJob loaded) {
    return check_layout(input_name(options.path), loaded.job.spec()).map([&] { return std::move(loaded); });
  });
}

Result<ExitCode> validate(const Options& options) {
  const Result<LoadedJob> loaded = load_and_check(options);
  if (!loaded) return tl::unexpected(loaded.error());
  print_notes(options, *loaded);
  if (options.output == "json") {
    fmt::print("{}\n", to_json(loaded->job, JsonLayout::kIndented));
  } else {
    fmt::print("{}: valid\n", input_name(options.path));
  }
  return ExitCode::kDone;
}

}  // namespace

void add_validate_command(CLI::App& app, Action& action) {
  const auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("validate", "Checks a job file and reports every mistake at once.");
  command->add_option("FILE", options->path, "Job file, YAML or JSON; - is standard input")->required();
  command->add_option("--set", options->sets, "Overrule a field, such as spec.training.steps=100")
      ->type_name("PATH=VALUE")
      ->allow_extra_args(false);
  add_output_option(*command, options->output, {"text", "json"}, "The verdict, or the job with its defaults");
  command->callback([options, &action] { action = [options] { return validate(*options); }; });
}

}  // namespace caravan::cli
