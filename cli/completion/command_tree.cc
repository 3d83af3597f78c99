#include "cli/completion/command_tree.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>

#include "cli/arguments/choice.h"
#include "common/arguments/unknown_argument.h"

namespace caravan::cli {
namespace {

// Shells show little more beside a word. Within a word, as in spec.data or 1:2, no clause ends.
std::string first_clause(const std::string& description) {
  const std::string line = description.substr(0, description.find('\n'));
  std::size_t end = line.find_first_of(".:;");
  while (end != std::string::npos && end + 1 < line.size() && line[end + 1] != ' ')
    end = line.find_first_of(".:;", end + 1);
  return line.substr(0, end);
}

Value value_of(const CLI::Option& option) {
  constexpr std::array kFiles = {"FILE", "DIR", "PATH"};
  if (is_flag(option)) return {};
  if (auto choices = choices_of(option); !choices.empty()) return {ValueKind::Choice, std::move(choices)};
  const std::string full_type = option.get_type_name();
  const std::string type = full_type.substr(0, full_type.find(':'));
  if (type == kTypeOfJobs) return {ValueKind::Job};
  const bool is_file = option.get_positional() || std::ranges::find(kFiles, type) != kFiles.end();
  return {is_file ? ValueKind::File : ValueKind::Other};
}

OptionWords words_of(const CLI::Option& option) {
  OptionWords words{
      .names = {}, .description = first_clause(option.get_description()), .value = value_of(option)};
  for (const std::string& name : option.get_snames()) words.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) words.names.push_back("--" + name);
  return words;
}

}  // namespace

CommandTree command_tree(const CLI::App& program) {
  CommandTree tree{.path = full_name(program), .description = first_clause(program.get_description())};
  for (const CLI::Option* option : program.get_options()) {
    if (option->nonpositional()) {
      tree.options.push_back(words_of(*option));
    } else if (tree.positional.kind == ValueKind::None) {
      tree.positional = value_of(*option);
    }
  }
  for (const CLI::App* command : program.get_subcommands([](const CLI::App*) { return true; }))
    tree.commands.push_back(command_tree(*command));
  return tree;
}

std::vector<const CommandTree*> all_commands(const CommandTree& tree) {
  std::vector<const CommandTree*> all = {&tree};
  for (const CommandTree& command : tree.commands) {
    const auto below = all_commands(command);
    all.insert(all.end(), below.begin(), below.end());
  }
  return all;
}

}  // namespace caravan::cli
