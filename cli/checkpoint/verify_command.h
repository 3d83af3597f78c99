// `caravan checkpoint verify`: whether every byte of checkpoints is the one that was written.
#pragma once

#include "cli/commands.h"

namespace caravan::cli {

void add_verify_command(CLI::App& checkpoint, Action& action);

}  // namespace caravan::cli
