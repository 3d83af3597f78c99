// `caravan checkpoint diff`: in what the weights of two checkpoints differ.
#pragma once

#include "cli/commands.h"

namespace caravan::cli {

void add_diff_command(CLI::App& checkpoint, Action& action);

}  // namespace caravan::cli
