// `caravan checkpoint list`: which checkpoints a folder holds.
#pragma once

#include "cli/commands.h"

namespace caravan::cli {

void add_list_command(CLI::App& checkpoint, Action& action);

}  // namespace caravan::cli
