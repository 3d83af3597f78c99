#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/arguments/shell_words.h"
#include "cli/completion/shells.h"

namespace caravan::cli {
namespace {

constexpr const char* kStart = R"(#compdef {0}
# Completion of {0} for zsh, written by `{0} completion zsh`.
_{0}() {{
  local command={0} word
  local -a options commands
)";

// Sourced, or found as a file of the function's name in $fpath.
constexpr const char* kEnd = R"(}}
if [[ $funcstack[1] == _{0} ]]; then
  _{0} "$@"
else
  compdef _{0} {0}
fi
)";

std::string answer(const Value& value) {
  if (value.kind == ValueKind::Choice) return fmt::format("compadd -- {}", fmt::join(value.choices, " "));
  if (value.kind == ValueKind::Job)
    return "compadd -- ${(f)\"$(${words[1]} __jobs \"${(@)words[2,-1]}\" 2>/dev/null)\"}";
  return value.kind == ValueKind::File ? "_files" : ":";
}

std::string walk(const std::vector<const CommandTree*>& commands) {
  return fmt::format(
      "  for word in \"${{(@)words[2,CURRENT - 1]}}\"; do\n"
      "    case \"$command $word\" in\n"
      "      ({}) command+=\" $word\" ;;\n"
      "    esac\n"
      "  done\n",
      fmt::join(quoted_paths(commands), " | "));
}

std::string values_of_options(const std::vector<const CommandTree*>& commands) {
  std::string text = "  case \"$command ${words[CURRENT - 1]}\" in\n";
  for (const CommandTree* command : commands) {
    for (const OptionWords& option : command->options) {
      if (option.value.kind == ValueKind::None) continue;
      text += fmt::format("    ({}) {}; return ;;\n", value_pattern(*command, option), answer(option.value));
    }
  }
  return text + "  esac\n";
}

std::string described(const std::string& word, const std::string& description) {
  return shell_quoted(fmt::format("{}:{}", word, description));
}

std::string words_of(const CommandTree& command) {
  std::vector<std::string> options;
  for (const OptionWords& option : command.options)
    for (const std::string& name : option.names) options.push_back(described(name, option.description));
  std::vector<std::string> commands;
  for (const CommandTree& inner : command.commands)
    commands.push_back(described(inner.name(), inner.description));
  return fmt::format(
      "    ({})\n"
      "      options=({})\n"
      "      commands=({})\n"
      "      [[ $words[CURRENT] == -* || -n $commands ]] || {} ;;\n",
      shell_quoted(command.path), fmt::join(options, " "), fmt::join(commands, " "),
      answer(command.positional));
}

}  // namespace

std::string zsh_completion(const CommandTree& program) {
  const auto commands = all_commands(program);
  std::string text = fmt::format(kStart, program.name());
  text += walk(commands) + values_of_options(commands) + "  case $command in\n";
  for (const CommandTree* command : commands) text += words_of(*command);
  text +=
      "  esac\n"
      "  if [[ $words[CURRENT] == -* ]]; then\n"
      "    _describe -o option options\n"
      "  elif [[ -n $commands ]]; then\n"
      "    _describe command commands\n"
      "  fi\n";
  return text + fmt::format(kEnd, program.name());
}

}  // namespace caravan::cli
