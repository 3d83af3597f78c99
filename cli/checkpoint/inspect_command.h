// `caravan checkpoint inspect`: what stands in one checkpoint.
#pragma once

#include "cli/commands.h"

namespace caravan::cli {

void add_inspect_checkpoint_command(CLI::App& checkpoint, Action& action);

}  // namespace caravan::cli
