#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/load_job.h"
#include "common/json.h"

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
    fmt::print(stderr, "{}: {}: matters on a cluster only; caravan run ignores it\n", options.path, path);
  }
}

ExitCode validate(const Options& options) {
  const Result<LoadedJob> loaded = load_job(options.path, options.sets);
  if (!loaded) {
    fmt::print(stderr, "{}\n", loaded.error().message);
    return loaded.error().code;
  }
  print_notes(options, *loaded);
  if (options.output == "json") {
    fmt::print("{}\n", to_json(loaded->job, JsonLayout::kIndented));
  } else {
    fmt::print("{}: valid\n", options.path);
  }
  return ExitCode::kDone;
}

}  // namespace

void add_validate_command(CLI::App& app, Action& action) {
  const auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("validate", "Checks a job file and reports every mistake at once.");
  command->add_option("JOB", options->path, "Job file, YAML or JSON")->required();
  command->add_option("--set", options->sets, "Overrule a field: PATH=VALUE, such as spec.training.steps=100")
      ->allow_extra_args(false);
  command->add_option("-o,--output", options->output, "text, or json: the job with its defaults")
      ->check(CLI::IsMember({"text", "json"}));
  command->callback([options, &action] { action = [options] { return validate(*options); }; });
}

}  // namespace caravan::cli
