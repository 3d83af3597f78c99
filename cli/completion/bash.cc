#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/arguments/shell_words.h"
#include "cli/completion/shells.h"

namespace caravan::cli {
namespace {

// Bash takes "=", ":" and "@" for words of their own, which are put together again. at: of the word at the
// cursor.
constexpr const char* kStart = R"(# Completion of {0} for bash, written by `{0} completion bash`.
_{0}() {{
  local -a words=()
  local current previous command={0} at i
  for ((i = 0; i < ${{#COMP_WORDS[@]}}; i++)); do
    if ((${{#words[@]}} > 1)) && [[ ${{COMP_WORDS[i]}} == [=:@]* || ${{words[-1]}} == *[=:@] ]]; then
      words[-1]+=${{COMP_WORDS[i]}}
    else
      words+=("${{COMP_WORDS[i]}}")
    fi
    if ((i == COMP_CWORD)); then
      current=${{words[-1]}} previous=${{words[-2]}} at=$((${{#words[@]}} - 1))
    fi
  done
  if [[ $current == -*=* ]]; then
    previous=${{current%%=*}} current=${{current#*=}}
  fi
  COMPREPLY=()
)";

constexpr const char* kEnd = R"(}}
complete -o default -F _{0} {0}
)";

std::string offer(const std::vector<std::string>& words) {
  return fmt::format("mapfile -t COMPREPLY < <(compgen -W '{}' -- \"$current\")", fmt::join(words, " "));
}

// The program itself knows; the words have the options that say which cluster.
constexpr const char* kJobs =
    "compopt +o default 2>/dev/null; mapfile -t COMPREPLY < <(compgen -W \"$(\"${words[0]}\" __jobs "
    "\"${words[@]:1}\" 2>/dev/null)\" -- \"$current\")";

// An empty answer has bash offer files, unless it is told not to.
std::string answer(const Value& value) {
  if (value.kind == ValueKind::Choice) return offer(value.choices);
  if (value.kind == ValueKind::Job) return kJobs;
  return value.kind == ValueKind::File ? ":" : "compopt +o default 2>/dev/null";
}

std::string walk(const std::vector<const CommandTree*>& commands) {
  return fmt::format(
      "  for ((i = 1; i < at; i++)); do\n"
      "    case \"$command ${{words[i]}}\" in\n"
      "      {}) command+=\" ${{words[i]}}\" ;;\n"
      "    esac\n"
      "  done\n",
      fmt::join(quoted_paths(commands), " | "));
}

std::string values_of_options(const std::vector<const CommandTree*>& commands) {
  std::string text = "  case \"$command $previous\" in\n";
  for (const CommandTree* command : commands) {
    for (const OptionWords& option : command->options) {
      if (option.value.kind == ValueKind::None) continue;
      text += fmt::format("    {}) {}; return ;;\n", value_pattern(*command, option), answer(option.value));
    }
  }
  return text + "  esac\n";
}

std::string words_of(const CommandTree& command) {
  std::vector<std::string> options;
  for (const OptionWords& option : command.options)
    options.insert(options.end(), option.names.begin(), option.names.end());
  std::vector<std::string> commands;
  for (const CommandTree& inner : command.commands) commands.push_back(inner.name());
  return fmt::format("    {}) if [[ $current == -* ]]; then {}; else {}; fi ;;\n", shell_quoted(command.path),
                     offer(options), commands.empty() ? answer(command.positional) : offer(commands));
}

}  // namespace

std::string bash_completion(const CommandTree& program) {
  const auto commands = all_commands(program);
  std::string text = fmt::format(kStart, program.name());
  text += walk(commands) + values_of_options(commands) + "  case $command in\n";
  for (const CommandTree* command : commands) text += words_of(*command);
  return text + "  esac\n" + fmt::format(kEnd, program.name());
}

}  // namespace caravan::cli
