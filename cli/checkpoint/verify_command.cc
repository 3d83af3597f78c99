#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "checkpoint/folder/checkpoint.h"
#include "checkpoint/format/names.h"
#include "cli/arguments/choice.h"
#include "cli/checkpoint/checkpoint_folder.h"
#include "cli/checkpoint/commands.h"
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

void print_text(const std::string& path, const Status& verified) {
  if (verified) {
    say("{}: intact\n", path);
  } else {
    say(stderr, "{}\n", verified.error().message);
  }
}

void print_json(const std::string& path, const Status& verified) {
  const std::string error = verified ? "null" : json_string(verified.error().message);
  fmt::print("{{\"path\":{},\"intact\":{},\"error\":{}}}\n", json_string(path), verified.has_value(), error);
}

// All are read, so that one that is damaged does not hide another.
Result<ExitCode> run(const VerifyOptions& options) {
  const auto folder = open_checkpoint_folder(options.path);
  if (!folder) return tl::unexpected(folder.error());
  ExitCode code = ExitCode::kDone;
  for (const int step : folder->steps) {
    const Status verified = verify(*folder->volume, step);
    const std::string path = folder->volume->shown(checkpoint::step_folder(step));
    options.output == "json" ? print_json(path, verified) : print_text(path, verified);
    if (!verified && code != ExitCode::kJobFailed) code = verified.error().code;
  }
  return code;
}

}  // namespace

void add_verify_command(CLI::App& checkpoint, Action& action) {
  const auto options = std::make_shared<VerifyOptions>();
  CLI::App* command = checkpoint.add_subcommand(
      "verify", "Reads every byte of a checkpoint, or of all of a job, and holds it against the sums.");
  command->add_option("DIR", options->path, "A checkpoint, or the folder of a job")->required();
  add_output_option(*command, options->output, {"text", "json"}, "Form of what is printed, a line each");
  command->callback([options, &action] { action = [options] { return run(*options); }; });
}

}  // namespace caravan::cli
