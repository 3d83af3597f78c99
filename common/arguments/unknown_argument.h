// What to say of arguments that lead to no command: an unknown command or option, a word too many or too few.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>

namespace caravan {

// The command that the arguments have led to, such as `checkpoint list`.
const CLI::App& innermost_command(const CLI::App& program);

// "caravan checkpoint list"
std::string full_name(const CLI::App& command);

// One sentence about the first argument that was left over when `program` was parsed, with what was probably
// meant; absent when none was.
std::optional<std::string> unknown_argument(const CLI::App& program);

// What to say where the arguments end before a command that does something.
std::string missing_command(const CLI::App& program);

}  // namespace caravan
