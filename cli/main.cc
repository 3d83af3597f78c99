#include <CLI/CLI.hpp>
#include <string>

#include "cli/commands.h"
#include "common/version.h"

namespace {

// CLI11 has exit codes of its own; ours has one for every mistake in the arguments.
int exit_on_parse_error(const CLI::App& app, const CLI::ParseError& error) {
  const bool asked_for_help = app.exit(error) == 0;
  return static_cast<int>(asked_for_help ? caravan::ExitCode::kDone : caravan::ExitCode::kBadInput);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Trains Llama models: plans the parallel layout, predicts memory and speed, runs the job.",
               "caravan");
  app.set_version_flag("--version", "caravan " + std::string(caravan::version()));
  app.require_subcommand(1);
  app.get_formatter()->column_width(36);

  caravan::cli::Action action;
  caravan::cli::add_run_command(app, action);
  caravan::cli::add_plan_command(app, action);
  caravan::cli::add_validate_command(app, action);
  caravan::cli::add_data_command(app, action);

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return exit_on_parse_error(app, error);
  }
  return static_cast<int>(action());
}
