#include <CLI/CLI.hpp>

#include "cli/checkpoint/commands.h"
#include "cli/cluster/commands.h"

namespace caravan::cli {

void add_checkpoint_command(CLI::App& app, Action& action) {
  CLI::App* checkpoint = app.add_subcommand(
      "checkpoint", "Shows, verifies, compares and exports checkpoints; asks a job for one.");
  checkpoint->require_subcommand(0, 1);
  add_list_command(*checkpoint, action);
  add_inspect_checkpoint_command(*checkpoint, action);
  add_verify_command(*checkpoint, action);
  add_diff_command(*checkpoint, action);
  add_export_command(*checkpoint, action);
  add_checkpoint_now_command(*checkpoint, action);
}

}  // namespace caravan::cli
