#include "common/arguments/unknown_argument.h"

#include <fmt/format.h>

#include <vector>

#include "common/schema/message_text.h"

namespace caravan {
namespace {

std::vector<std::string> command_names(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::App* inner : command.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(inner->get_name());
  return names;
}

std::vector<std::string> option_names(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options())
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  return names;
}

std::string suggestion(std::string_view given, const std::vector<std::string>& names) {
  const auto meant = schema::closest_match(given, names);
  return meant ? fmt::format("; did you mean {}?", *meant) : "";
}

// The first word that a command was given and could not use.
std::string sentence(const CLI::App& command, const std::string& word) {
  if (word.starts_with('-')) {
    const std::string name = word.substr(0, word.find('='));
    return fmt::format("{} has no option {}{}", full_name(command), schema::in_quotes(name),
                       suggestion(name, option_names(command)));
  }
  const std::vector<std::string> names = command_names(command);
  if (names.empty()) {
    const bool is_set =
        word.find('=') != std::string::npos && command.get_option_no_throw("--set") != nullptr;
    return fmt::format("{}: {} is one argument too many{}", full_name(command), schema::in_quotes(word),
                       is_set ? "; write --set before each PATH=VALUE" : "");
  }
  const std::string meant = suggestion(word, names);
  return fmt::format("{} has no command {}{}", full_name(command), schema::in_quotes(word),
                     meant.empty() ? "; its commands are " + schema::joined(names) : meant);
}

}  // namespace

const CLI::App& innermost_command(const CLI::App& program) {
  const CLI::App* at = &program;
  while (!at->get_subcommands().empty()) at = at->get_subcommands().back();
  return *at;
}

std::string full_name(const CLI::App& command) {
  const CLI::App* parent = command.get_parent();
  return parent == nullptr ? command.get_name() : full_name(*parent) + " " + command.get_name();
}

std::optional<std::string> unknown_argument(const CLI::App& program) {
  for (const CLI::App* at = &program;; at = at->get_subcommands().back()) {
    if (const auto left = at->remaining(); !left.empty()) return sentence(*at, left.front());
    if (at->get_subcommands().empty()) return std::nullopt;
  }
}

std::string missing_command(const CLI::App& program) {
  const CLI::App& command = innermost_command(program);
  return fmt::format("{}: a command is required: {}", full_name(command),
                     schema::joined(command_names(command)));
}

}  // namespace caravan
