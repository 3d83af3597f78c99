// Completions of the command line for shells, as text that the shell reads.
#pragma once

#include <string>
#include <vector>

#include "cli/completion/command_tree.h"

namespace caravan::cli {

std::string bash_completion(const CommandTree& program);
std::string zsh_completion(const CommandTree& program);
std::string fish_completion(const CommandTree& program);

// 'caravan' 'caravan run' …
std::vector<std::string> quoted_paths(const std::vector<const CommandTree*>& commands);

// What `case` in bash and zsh matches where the value of this option is asked for: 'caravan run -o' | ….
std::string value_pattern(const CommandTree& command, const OptionWords& option);

}  // namespace caravan::cli
