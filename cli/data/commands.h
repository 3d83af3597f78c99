// The commands of `caravan data`; each stands in a file named after it.
#pragma once

#include "cli/commands.h"

namespace caravan::cli {

// Text files into token files.
void add_tokenize_command(CLI::App& data, Action& action);
// What stands in token files.
void add_inspect_command(CLI::App& data, Action& action);

}  // namespace caravan::cli
