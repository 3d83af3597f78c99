#include "cli/cluster/commands.h"

#include <CLI/CLI.hpp>

namespace caravan::cli {

void add_cluster_commands(CLI::App& app, Action& action) {
  const auto local = app.get_subcommands([](const CLI::App*) { return true; });
  for (CLI::App* command : local) command->group("Commands on this machine");
  add_estimate_command(app, action);
  add_submit_command(app, action);
  add_list_jobs_command(app, action);
  add_get_command(app, action);
  add_describe_command(app, action);
  add_doctor_command(app, action);
  add_top_command(app, action);
  add_logs_command(app, action);
  add_events_command(app, action);
  add_plot_command(app, action);
  add_wait_command(app, action);
  add_suspend_command(app, action);
  add_resume_command(app, action);
  add_cancel_command(app, action);
  add_delete_command(app, action);
  add_service_command(app, action);
  for (CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (command->get_group() == "Subcommands")
      command->group("Commands on a cluster, by its kubeconfig or on its job service");
  }
}

}  // namespace caravan::cli
