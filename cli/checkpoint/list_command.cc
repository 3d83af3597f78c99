#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "checkpoint/format/names.h"
#include "cli/arguments/choice.h"
#include "cli/checkpoint/checkpoint_folder.h"
#include "cli/checkpoint/commands.h"
#include "cli/checkpoint/facts.h"
#include "cli/checkpoint/steps.h"
#include "cli/say.h"
#include "common/json.h"
#include "common/readable_bytes.h"

namespace caravan::cli {
namespace {

struct ListOptions {
  std::string path;
  std::string output = "text";
};

void print_line(const v1alpha1::CheckpointManifest& manifest, const std::string& path) {
  say("{:<10} {:>10}  {:<16} attempt {:<4} {}\n", manifest.progress().step(),
      readable_bytes(bytes_of(manifest)), layout_text(manifest), manifest.attempt(), path);
}

Result<ExitCode> run(const ListOptions& options) {
  const auto folder = open_folder(options.path);
  if (!folder) return tl::unexpected(folder.error());
  if (folder->steps.empty()) say(stderr, "{}: holds no checkpoint\n", options.path);
  return list_steps(*folder, options.output);
}

}  // namespace

// What cannot be read is said and is no reason not to show the others.
ExitCode list_steps(const CheckpointFolder& folder, const std::string& output) {
  ExitCode code = ExitCode::kDone;
  for (const int step : folder.steps) {
    const std::string path = folder.volume->shown(checkpoint::step_folder(step));
    const auto manifest = read_manifest(*folder.volume, step);
    if (manifest) {
      output == "json" ? fmt::print("{{{}}}\n", summary_json(*manifest, path)) : print_line(*manifest, path);
    } else if (was_removed(folder, step)) {
      say(stderr, "{}: was removed meanwhile\n", path);
    } else {
      say(stderr, "{}\n", manifest.error().message);
      code = ExitCode::kBadInput;
    }
  }
  return code;
}

void add_list_command(CLI::App& checkpoint, Action& action) {
  const auto options = std::make_shared<ListOptions>();
  CLI::App* command = checkpoint.add_subcommand(
      "list", "The checkpoints of a job, newest first: step, size, layout that wrote it, attempt.");
  command->add_option("DIR", options->path, "spec.checkpoint.path of the job, or one checkpoint in it")
      ->required();
  add_output_option(*command, options->output, {"text", "json"}, "Form of what is printed, a line each");
  command->callback([options, &action] { action = [options] { return run(*options); }; });
}

}  // namespace caravan::cli
