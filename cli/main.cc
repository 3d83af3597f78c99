#include <fcntl.h>
#include <fmt/format.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "cli/arguments/help_formatter.h"
#include "cli/cluster/job_names.h"
#include "cli/commands.h"
#include "cli/say.h"
#include "cli/terminal.h"
#include "common/arguments/parse_error.h"
#include "common/arguments/unknown_argument.h"
#include "common/environment.h"
#include "common/process.h"
#include "common/refusal.h"
#include "common/standard_stream.h"
#include "common/version.h"

namespace {

using caravan::cli::say;

// Where one is closed, the next file that is opened would get its number, and be read or printed into. What
// takes its place refuses both, as a closed one does. No library has begun yet, and perhaps no sanitizer, so
// it goes without them.
__attribute__((no_sanitize("address"), no_sanitize("undefined"), no_sanitize("thread"))) void
hold_places_of_closed_streams() {
  for (int stream = STDIN_FILENO; stream <= STDERR_FILENO; ++stream) {
    if (syscall(SYS_fcntl, stream, F_GETFD) == -1)
      syscall(SYS_openat, AT_FDCWD, "/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  }
}

// Before what libraries do at their start: gRPC opens descriptors.
[[gnu::section(".preinit_array"), gnu::used]] void (*const first_of_all)() = hold_places_of_closed_streams;

// fmt may throw where standard output takes no more, of which main tells.
caravan::Result<caravan::ExitCode> run(const caravan::cli::Action& action) {
  try {
    return action();
  } catch (const std::system_error&) {
    if (caravan::output_arrives()) throw;
    return caravan::ExitCode::kJobFailed;
  }
}

caravan::ExitCode code_of(const caravan::Result<caravan::ExitCode>& result) {
  if (result) return *result;
  say(stderr, "{}\n", result.error().message);
  return result.error().code;
}

// kubectl runs a plugin by the name kubectl-caravan, and asks kubectl_complete-caravan for completions.
constexpr std::string_view kPlugin = "kubectl-caravan";
constexpr std::string_view kPluginCompletion = "kubectl_complete-caravan";

std::string_view called_as(const char* path) {
  const std::string_view whole = path;
  return whole.substr(whole.rfind('/') + 1);
}

int print_job_names(const std::vector<std::string>& words) {
  for (const std::string& name : caravan::cli::job_names(words)) fmt::print("{}\n", name);
  return 0;
}

int complete(const CLI::App& app, const std::vector<std::string>& words) {
  fmt::print("{}", caravan::cli::completion_for_kubectl(caravan::cli::command_tree(app), words));
  return 0;
}

// `caravan help plan` is `caravan plan --help`; of a command that is none, that is the mistake.
void ask_for_help(const CLI::App& app, std::vector<std::string>& words) {
  words.erase(words.begin());
  const auto is_meant = [&](const CLI::App* command) { return command->get_name() == words.front(); };
  if (words.empty() || !app.get_subcommands(is_meant).empty()) words.emplace_back("--help");
}

constexpr char kExitCodes[] =
    "Exit codes: 0 done, 1 failed, 2 bad input, 3 the job does not fit, 4 the cluster is not reached, 124 "
    "--timeout is over, 130 interrupted. COMMAND --help, or help COMMAND, tells more of a command.";

}  // namespace

int main(int argc, char** argv) {
  caravan::set_up_grpc();
  caravan::allow_all_open_files();
  const std::string_view name = called_as(argc > 0 ? argv[0] : "");
  CLI::App app("Trains Llama models: plans the parallel layout, predicts memory and speed, runs the job.",
               name == kPlugin ? "kubectl caravan" : "caravan");
  app.set_version_flag("--version", "caravan " + std::string(caravan::version()));
  app.require_subcommand(0, 1);  // CLI11 would ask for a command without naming the one it does not know
  app.formatter(std::make_shared<caravan::cli::HelpFormatter>(caravan::cli::output_width()));

  caravan::cli::Action action;
  caravan::cli::add_commands(app, action);
  app.footer(kExitCodes);  // after the commands, which would inherit it

  std::vector<std::string> words(argv + (argc > 0 ? 1 : 0), argv + argc);
  if (name == kPluginCompletion) return complete(app, words);
  if (!words.empty() && words.front() == caravan::cli::kNamesCommand) return print_job_names(words);

  if (!words.empty() && words.front() == "help") ask_for_help(app, words);

  try {
    app.parse(std::vector<std::string>(words.rbegin(), words.rend()));  // CLI11 takes the last one first
  } catch (const CLI::ParseError& error) {
    return caravan::exit_on_parse_error(app, error);
  }
  if (words.empty()) {
    action = [&] {
      fmt::print("{}", app.help());
      return caravan::ExitCode::kDone;
    };
  }
  if (!action) return caravan::refuse_arguments(app, caravan::missing_command(app));
  const caravan::ExitCode code = code_of(caravan::unless_refused([&] { return run(action); }));
  return static_cast<int>(caravan::unless_output_is_lost(code));
}
