#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "checkpoint/format/manifest.h"
#include "checkpoint/format/names.h"
#include "cli/arguments/choice.h"
#include "cli/checkpoint/checkpoint_folder.h"
#include "cli/checkpoint/commands.h"
#include "cli/checkpoint/facts.h"
#include "cli/say.h"
#include "common/json.h"
#include "common/readable_bytes.h"
#include "common/readable_integer.h"

namespace caravan::cli {
namespace {

struct InspectOptions {
  std::string path;
  std::string output = "text";
};

void print_text(const v1alpha1::CheckpointManifest& manifest, const std::string& path) {
  const auto& progress = manifest.progress();
  const auto& training = manifest.training();
  const auto& first = manifest.tensors(0);
  say("checkpoint     {}\n", path);
  say("job            {}, attempt {}\n", manifest.job_name(), manifest.attempt());
  say("step           {} of {}, {} updates\n", readable_integer(progress.step()),
      readable_integer(training.steps()), readable_integer(progress.updates()));
  say("data           {} sequences of {} tokens seen, {} each step, seed {}\n",
      readable_integer(progress.samples()), readable_integer(training.sequence_length()),
      readable_integer(training.global_batch_sequences()), training.seed());
  say("written by     {}, schedule {}, ZeRO-{}\n", layout_text(manifest), manifest.layout().schedule(),
      manifest.layout().zero_stage());
  say("parameters     {} in {} tensors\n", readable_integer(parameters_of(manifest)),
      readable_integer(manifest.tensors_size()));
  say("types          weights {}, moments {}{}\n", first.weights_type(), checkpoint::moments_type_of(first),
      first.has_master() ? fmt::format(", master weights {}", first.states_type()) : "");
  say("files          {}, {}\n", manifest.files_size(), readable_bytes(bytes_of(manifest)));
  for (const auto& file : manifest.files())
    say("  {}  {:>10}  {}\n", file.crc32c(), readable_bytes(file.length()), file.name());
}

void print_json(const v1alpha1::CheckpointManifest& manifest, const std::string& path) {
  fmt::print("{{{},\"parameters\":{},\"manifest\":{}}}\n", summary_json(manifest, path),
             parameters_of(manifest), to_json(manifest));
}

Result<ExitCode> run(const InspectOptions& options) {
  const auto folder = open_checkpoint_folder(options.path);
  if (!folder) return tl::unexpected(folder.error());
  const int newest = folder->steps.front();
  const auto manifest = read_manifest(*folder->volume, newest);
  if (!manifest) return tl::unexpected(manifest.error());
  const std::string path = folder->volume->shown(checkpoint::step_folder(newest));
  options.output == "json" ? print_json(*manifest, path) : print_text(*manifest, path);
  return ExitCode::kDone;
}

}  // namespace

void add_inspect_checkpoint_command(CLI::App& checkpoint, Action& action) {
  const auto options = std::make_shared<InspectOptions>();
  CLI::App* command = checkpoint.add_subcommand("inspect", "Tells what stands in a checkpoint.");
  command->add_option("DIR", options->path, "A checkpoint, or the folder of a job: its newest one")
      ->required();
  add_output_option(*command, options->output, {"text", "json"}, "Form of what is printed");
  command->callback([options, &action] { action = [options] { return run(*options); }; });
}

}  // namespace caravan::cli
