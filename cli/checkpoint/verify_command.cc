#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstddef>
#include <memory>
#include <string_view>

#include "checkpoint/folder/checkpoint.h"
#include "checkpoint/format/names.h"
#include "cli/arguments/choice.h"
#include "cli/checkpoint/checkpoint_folder.h"
#include "cli/checkpoint/commands.h"
#include "cli/checkpoint/steps.h"
#include "cli/say.h"
#include "common/json.h"

namespace caravan::cli {
namespace {

struct VerifyOptions {
  std::string path;
  std::string output = "text";
};

Status verify(const checkpoint::Volume& volume, int step) {
  return checkpoint::Checkpoint::open(volume, step).and_then([](checkpoint::Checkpoint found) {
    return found.verify();
  });
}

// intact: null where that is not known.
void print_json(const std::string& path, std::string_view intact, const std::string& error) {
  fmt::print("{{\"path\":{},\"intact\":{},\"error\":{}}}\n", json_string(path), intact,
             error.empty() ? "null" : json_string(error));
}

void print_verified(const std::string& path, const Status& verified, const std::string& output) {
  if (output == "json") {
    print_json(path, verified ? "true" : "false", verified ? "" : verified.error().message);
  } else if (verified) {
    say("{}: intact\n", path);
  } else {
    say(stderr, "{}\n", verified.error().message);
  }
}

void print_removed(const std::string& path, const std::string& output) {
  const std::string message = path + ": was removed meanwhile";
  output == "json" ? print_json(path, "null", message) : say(stderr, "{}\n", message);
}

Result<ExitCode> run(const VerifyOptions& options) {
  const auto folder = open_checkpoint_folder(options.path);
  if (!folder) return tl::unexpected(folder.error());
  return verify_steps(*folder, options.output);
}

}  // namespace

// All are read, so that one that is damaged does not hide another.
ExitCode verify_steps(const CheckpointFolder& folder, const std::string& output) {
  ExitCode code = ExitCode::kDone;
  std::size_t removed = 0;
  for (const int step : folder.steps) {
    const Status verified = verify(*folder.volume, step);
    const std::string path = folder.volume->shown(checkpoint::step_folder(step));
    if (!verified && was_removed(folder, step)) {
      print_removed(path, output);
      ++removed;
      continue;
    }
    print_verified(path, verified, output);
    if (!verified && code != ExitCode::kJobFailed) code = verified.error().code;
  }
  return removed == folder.steps.size() ? ExitCode::kBadInput : code;
}

void add_verify_command(CLI::App& checkpoint, Action& action) {
  const auto options = std::make_shared<VerifyOptions>();
  CLI::App* command = checkpoint.add_subcommand(
      "verify", "Reads every byte of a checkpoint, or of all of a job, and holds it against the sums.");
  command->add_option("DIR", options->path, "A checkpoint, or the folder of a job")->required();
  add_output_option(*command, options->output, {"text", "json"}, "Form of what is printed, a line each");
  command->callback([options, &action] { action = [options] { return run(*options); }; });
}

}  // namespace caravan::cli
