// What a program says when its arguments are not right: one sentence, where the help is, exit code 2.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace caravan {

// Says `sentence` of the command that the arguments have led to. Gives the exit code.
int refuse_arguments(const CLI::App& program, const std::string& sentence);

// Answers what `program.parse` threw: prints the help or the version, which is no mistake, or refuses. Of an
// argument that nobody knows, what is missing may only follow, so it is named first.
int exit_on_parse_error(const CLI::App& program, const CLI::ParseError& error);

}  // namespace caravan
