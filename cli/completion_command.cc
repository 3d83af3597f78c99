#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "cli/arguments/choice.h"
#include "cli/commands.h"
#include "cli/completion/command_tree.h"
#include "cli/completion/shells.h"

namespace caravan::cli {
namespace {

std::string completion_for(const std::string& shell, const CommandTree& program) {
  if (shell == "bash") return bash_completion(program);
  return shell == "zsh" ? zsh_completion(program) : fish_completion(program);
}

}  // namespace

void add_completion_command(CLI::App& app, Action& action) {
  const auto shell = std::make_shared<std::string>();
  CLI::App* command =
      app.add_subcommand("completion",
                         "Prints the completion of commands, options and their values for a shell.\n"
                         "bash: source <(caravan completion bash), in ~/.bashrc.\n"
                         "zsh: source <(caravan completion zsh), in ~/.zshrc behind compinit.\n"
                         "fish: caravan completion fish | source, in ~/.config/fish/config.fish.");
  command->add_option("SHELL", *shell, "Which shell")->required()->check(one_of({"bash", "zsh", "fish"}));
  command->callback([shell, &app, &action] {
    action = [shell, &app]() -> Result<ExitCode> {
      if (app.get_name() != "caravan")
        return bad_input("kubectl completes its plugin by itself, once kubectl_complete-caravan is in PATH");
      fmt::print("{}", completion_for(*shell, command_tree(app)));
      return ExitCode::kDone;
    };
  });
}

}  // namespace caravan::cli
