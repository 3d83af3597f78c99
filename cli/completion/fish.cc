#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/arguments/shell_words.h"
#include "cli/completion/shells.h"

namespace caravan::cli {
namespace {

// Whether the words before the cursor lead to that command.
constexpr const char* kStart = R"(# Completion of {0} for fish, written by `{0} completion fish`.
function __{0}_at
  set -l command {0}
  for word in (commandline -opc)[2..-1]
    if contains -- "$command $word" {1}
      set command "$command $word"
    end
  end
  test "$command" = "$argv"
end
complete -c {0} -f
)";

// The program itself knows; the words have the options that say which cluster.
constexpr const char* kJobs = "(caravan __jobs (commandline -opc)[2..-1] 2>/dev/null)";

std::string takes(const Value& value) {
  switch (value.kind) {
    case ValueKind::None:
      return "";
    case ValueKind::Choice:
      return fmt::format(" -x -a '{}'", fmt::join(value.choices, " "));
    case ValueKind::File:
      return " -r -F";
    case ValueKind::Job:
      return fmt::format(" -x -a '{}'", kJobs);
    case ValueKind::Other:
      return " -x";
  }
  return "";
}

std::string line(const std::string& condition, const std::string& what, const std::string& description) {
  return fmt::format("{}{} -d {}\n", condition, what, shell_quoted(description));
}

std::string names_of(const OptionWords& option) {
  std::string text;
  for (const std::string& name : option.names)
    text += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
  return text;
}

std::string lines_of(const CommandTree& command, const std::string& program) {
  const std::string condition = fmt::format("complete -c {0} -n '__{0}_at {1}'", program, command.path);
  std::string text;
  for (const OptionWords& option : command.options)
    text += line(condition, names_of(option) + takes(option.value), option.description);
  for (const CommandTree& inner : command.commands)
    text += line(condition, " -a " + inner.name(), inner.description);
  const Value& positional = command.positional;
  if (positional.kind == ValueKind::File) text += condition + " -F\n";
  if (positional.kind == ValueKind::Job) text += fmt::format("{} -a '{}'\n", condition, kJobs);
  if (positional.kind == ValueKind::Choice)
    text += fmt::format("{} -a '{}'\n", condition, fmt::join(positional.choices, " "));
  return text;
}

}  // namespace

std::string fish_completion(const CommandTree& program) {
  const auto commands = all_commands(program);
  std::string text = fmt::format(kStart, program.name(), fmt::join(quoted_paths(commands), " "));
  for (const CommandTree* command : commands) text += lines_of(*command, program.name());
  return text;
}

}  // namespace caravan::cli
