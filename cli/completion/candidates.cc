#include "cli/completion/candidates.h"

#include <algorithm>

namespace caravan::cli {
namespace {

const CommandTree& command_at(const CommandTree& program, const std::vector<std::string>& before) {
  const CommandTree* at = &program;
  for (const std::string& word : before) {
    const auto inner = std::ranges::find_if(
        at->commands, [&](const CommandTree& command) { return command.name() == word; });
    if (inner != at->commands.end()) at = &*inner;
  }
  return *at;
}

// Null when the word is no option of the command.
const OptionWords* option_named(const CommandTree& command, const std::string& word) {
  const auto found = std::ranges::find_if(command.options, [&](const OptionWords& option) {
    return std::ranges::find(option.names, word) != option.names.end();
  });
  return found == command.options.end() ? nullptr : &*found;
}

Candidates of_value(const Value& value) {
  Candidates candidates{.kind = value.kind};
  for (const std::string& choice : value.choices) candidates.words.push_back({choice});
  return candidates;
}

Candidates of_names(const CommandTree& command) {
  Candidates candidates;
  for (const OptionWords& option : command.options) {
    for (const std::string& name : option.names) candidates.words.push_back({name, option.description});
  }
  return candidates;
}

Candidates all_candidates(const CommandTree& program, const std::vector<std::string>& words) {
  const std::string& current = words.back();
  const std::vector<std::string> before(words.begin(), words.end() - 1);
  const CommandTree& command = command_at(program, before);
  const OptionWords* option = before.empty() ? nullptr : option_named(command, before.back());
  if (option != nullptr && option->value.kind != ValueKind::None) return of_value(option->value);
  if (current.starts_with('-')) return of_names(command);
  if (command.commands.empty()) return of_value(command.positional);
  Candidates candidates;
  for (const CommandTree& inner : command.commands)
    candidates.words.push_back({inner.name(), inner.description});
  return candidates;
}

}  // namespace

Candidates candidates_for(const CommandTree& program, const std::vector<std::string>& words) {
  if (words.empty()) return {};
  Candidates candidates = all_candidates(program, words);
  std::erase_if(candidates.words,
                [&](const Candidate& candidate) { return !candidate.word.starts_with(words.back()); });
  return candidates;
}

}  // namespace caravan::cli
