// The commands that work on a cluster; each stands in a file named after it.
#pragma once

#include "cli/commands.h"

namespace caravan::cli {

// Part of `caravan checkpoint`, whose other commands read a folder.
void add_checkpoint_now_command(CLI::App& checkpoint, Action& action);

void add_estimate_command(CLI::App& app, Action& action);
void add_submit_command(CLI::App& app, Action& action);
void add_list_jobs_command(CLI::App& app, Action& action);
void add_get_command(CLI::App& app, Action& action);
void add_describe_command(CLI::App& app, Action& action);
void add_doctor_command(CLI::App& app, Action& action);
void add_top_command(CLI::App& app, Action& action);
void add_logs_command(CLI::App& app, Action& action);
void add_events_command(CLI::App& app, Action& action);
void add_plot_command(CLI::App& app, Action& action);
void add_wait_command(CLI::App& app, Action& action);
void add_suspend_command(CLI::App& app, Action& action);
void add_resume_command(CLI::App& app, Action& action);
void add_cancel_command(CLI::App& app, Action& action);
void add_delete_command(CLI::App& app, Action& action);
void add_service_command(CLI::App& app, Action& action);

// All but the first, in the order of the help, where they are a group of their own.
void add_cluster_commands(CLI::App& app, Action& action);

}  // namespace caravan::cli
