// `caravan data inspect`: what stands in token files.
#pragma once

#include "cli/commands.h"

namespace caravan::cli {

void add_inspect_command(CLI::App& data, Action& action);

}  // namespace caravan::cli
