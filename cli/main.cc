#include <CLI/CLI.hpp>
#include <cstdio>
#include <string>

#include "cli/commands.h"
#include "common/refusal.h"
#include "common/version.h"

namespace {

// CLI11 has exit codes of its own; ours has one for every mistake in the arguments.
int exit_on_parse_error(const CLI::App& app, const CLI::ParseError& error) {
  const bool asked_for_help = app.exit(error) == 0;
  return static_cast<int>(asked_for_help ? caravan::ExitCode::kDone : caravan::ExitCode::kBadInput);
}

bool output_is_written() {
  return std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
}

caravan::ExitCode code_of(const caravan::Result<caravan::ExitCode>& result) {
  if (result) return *result;
  std::fputs((result.error().message + "\n").c_str(), stderr);
  return result.error().code;
}

// An answer that did not arrive is no success, also where fmt threw because standard output took no more.
caravan::ExitCode run(const caravan::cli::Action& action) {
  const caravan::ExitCode code = code_of(caravan::unless_refused(action));
  if (output_is_written()) return code;
  std::fputs("standard output: not everything could be written; give it room and an open end\n", stderr);
  return code == caravan::ExitCode::kDone ? caravan::ExitCode::kJobFailed : code;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Trains Llama models: plans the parallel layout, predicts memory and speed, runs the job.",
               "caravan");
  app.set_version_flag("--version", "caravan " + std::string(caravan::version()));
  app.require_subcommand(0, 1);  // CLI11 would ask for a command without naming the one it does not know
  app.get_formatter()->column_width(36);

  caravan::cli::Action action;
  caravan::cli::add_run_command(app, action);
  caravan::cli::add_plan_command(app, action);
  caravan::cli::add_validate_command(app, action);
  caravan::cli::add_schedule_command(app, action);
  caravan::cli::add_data_command(app, action);
  caravan::cli::add_checkpoint_command(app, action);
  caravan::cli::add_generate_command(app, action);

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return exit_on_parse_error(app, error);
  }
  if (!action) {
    std::fputs("A command is required.\nRun with --help for more information.\n", stderr);
    return static_cast<int>(caravan::ExitCode::kBadInput);
  }
  return static_cast<int>(run(action));
}
