#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "checkpoint/folder/checkpoint.h"
#include "checkpoint/format/names.h"
#include "cli/checkpoint/checkpoint_folder.h"
#include "cli/checkpoint/commands.h"

namespace caravan::cli {
namespace {

Status verify(const checkpoint::Volume& volume, int step) {
  return checkpoint::Checkpoint::open(volume, step).and_then([](checkpoint::Checkpoint found) {
    return found.verify();
  });
}

// All are read, so that one that is damaged does not hide another.
Result<ExitCode> run(const std::string& path) {
  const auto folder = open_checkpoint_folder(path);
  if (!folder) return tl::unexpected(folder.error());
  ExitCode code = ExitCode::kDone;
  for (const int step : folder->steps) {
    const Status verified = verify(*folder->volume, step);
    if (verified) {
      fmt::print("{}: intact\n", folder->volume->shown(checkpoint::step_folder(step)));
      continue;
    }
    fmt::print(stderr, "{}\n", verified.error().message);
    if (code != ExitCode::kJobFailed) code = verified.error().code;
  }
  return code;
}

}  // namespace

void add_verify_command(CLI::App& checkpoint, Action& action) {
  const auto path = std::make_shared<std::string>();
  CLI::App* command = checkpoint.add_subcommand(
      "verify", "Reads every byte of a checkpoint, or of all of a job, and holds it against the sums.");
  command->add_option("DIR", *path, "A checkpoint, or the folder of a job")->required();
  command->callback([path, &action] { action = [path] { return run(*path); }; });
}

}  // namespace caravan::cli
