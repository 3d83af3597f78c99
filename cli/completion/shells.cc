#include "cli/completion/shells.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>

#include "cli/arguments/shell_words.h"

namespace caravan::cli {

std::vector<std::string> quoted_paths(const std::vector<const CommandTree*>& commands) {
  std::vector<std::string> paths;
  std::ranges::transform(commands, std::back_inserter(paths),
                         [](const CommandTree* command) { return shell_quoted(command->path); });
  return paths;
}

std::string value_pattern(const CommandTree& command, const OptionWords& option) {
  std::vector<std::string> patterns;
  std::ranges::transform(option.names, std::back_inserter(patterns), [&](const std::string& name) {
    return shell_quoted(fmt::format("{} {}", command.path, name));
  });
  return fmt::format("{}", fmt::join(patterns, " | "));
}

}  // namespace caravan::cli
