// Words of a command line, as a shell reads them.
#pragma once

#include <string>

namespace caravan::cli {

// In single quotes, for bash, zsh and fish.
std::string shell_quoted(const std::string& text);

// The path of a file in a command that a user may paste: in quotes where it needs them, and never an option.
std::string shell_path(const std::string& path);

}  // namespace caravan::cli
