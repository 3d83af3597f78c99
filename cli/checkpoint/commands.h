// The commands of `caravan checkpoint`; each stands in a file named after it.
#pragma once

#include "cli/commands.h"

namespace caravan::cli {

// Which checkpoints a folder holds.
void add_list_command(CLI::App& checkpoint, Action& action);
// What stands in one checkpoint.
void add_inspect_checkpoint_command(CLI::App& checkpoint, Action& action);
// Whether every byte of checkpoints is the one that was written.
void add_verify_command(CLI::App& checkpoint, Action& action);
// In what the weights of two checkpoints differ.
void add_diff_command(CLI::App& checkpoint, Action& action);
// The weights as a folder for other programs.
void add_export_command(CLI::App& checkpoint, Action& action);

}  // namespace caravan::cli
