#include <CLI/CLI.hpp>

#include "cli/data/commands.h"

namespace caravan::cli {

void add_data_command(CLI::App& app, Action& action) {
  CLI::App* data = app.add_subcommand("data", "Makes and checks token files.");
  data->require_subcommand(0, 1);
  add_tokenize_command(*data, action);
  add_inspect_command(*data, action);
}

}  // namespace caravan::cli
