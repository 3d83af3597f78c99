#include "cli/commands.h"

#include "cli/cluster/commands.h"

namespace caravan::cli {

void add_commands(CLI::App& app, Action& action) {
  add_init_command(app, action);
  add_validate_command(app, action);
  add_plan_command(app, action);
  add_run_command(app, action);
  add_generate_command(app, action);
  add_data_command(app, action);
  add_checkpoint_command(app, action);
  add_trace_command(app, action);
  add_schedule_command(app, action);
  add_presets_command(app, action);
  add_devices_command(app, action);
  add_completion_command(app, action);
  add_cluster_commands(app, action);
}

}  // namespace caravan::cli
