// Options that take one of a few words or none, and the option that every command has in common: --output.
//
// `-o, --output` is always the form of what goes to standard output, never a file: a file to be written is
// named with `--to`.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace caravan::cli {

// "expected one of a, b, got "c"; did you mean a?"
std::string not_one_of(const std::string& given, const std::vector<std::string>& words);

// Refuses other words with the one that was probably meant.
CLI::Validator one_of(const std::vector<std::string>& words);

// The words of an option that was declared with one_of; none: it takes anything.
std::vector<std::string> choices_of(const CLI::Option& option);

// Whether an option takes no value.
bool is_flag(const CLI::Option& option);

// Declares `-o, --output`. forms: text first, which is what people read. What `form` holds is the default,
// which the help shows; empty: the command decides, as the description says.
CLI::Option* add_output_option(CLI::App& command, std::string& form, const std::vector<std::string>& forms,
                               const std::string& description);

}  // namespace caravan::cli
