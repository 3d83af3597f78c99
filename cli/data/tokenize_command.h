// `caravan data tokenize`: text files into token files.
#pragma once

#include "cli/commands.h"

namespace caravan::cli {

void add_tokenize_command(CLI::App& data, Action& action);

}  // namespace caravan::cli
