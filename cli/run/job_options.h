// The options that all commands have that run a job on this machine: which job, where its data are, on how
// many agents.
#pragma once

#include <CLI/CLI.hpp>

#include "cli/run/prepare.h"

namespace caravan::cli {

void declare_job_options(CLI::App& command, RunOptions& options);

}  // namespace caravan::cli
