// The commands of the `caravan` program, one file each. A command declares its options on `app`; when the
// user chose it, main runs the action it left and prints its error.
#pragma once

#include <functional>

#include "common/result.h"

namespace CLI {
class App;
}

namespace caravan::cli {

using Action = std::function<Result<ExitCode>()>;

void add_init_command(CLI::App& app, Action& action);
void add_validate_command(CLI::App& app, Action& action);
void add_plan_command(CLI::App& app, Action& action);
void add_run_command(CLI::App& app, Action& action);
void add_trace_command(CLI::App& app, Action& action);
void add_schedule_command(CLI::App& app, Action& action);
void add_data_command(CLI::App& app, Action& action);
void add_checkpoint_command(CLI::App& app, Action& action);
void add_generate_command(CLI::App& app, Action& action);
void add_presets_command(CLI::App& app, Action& action);
void add_devices_command(CLI::App& app, Action& action);
void add_completion_command(CLI::App& app, Action& action);

// All of them, in the order of the help.
void add_commands(CLI::App& app, Action& action);

}  // namespace caravan::cli
