// `caravan checkpoint export`: the weights as a folder for other programs.
#pragma once

#include "cli/commands.h"

namespace caravan::cli {

void add_export_command(CLI::App& checkpoint, Action& action);

}  // namespace caravan::cli
