// A prepared job on this machine, from its introduction to its end: what all commands share that run one.
//
// Errors: a machine that cannot be looked at, a file that cannot be written, a process that cannot be made. A
// job that fails is a summary.
#pragma once

#include <string>

#include "cli/run/console.h"
#include "cli/run/prepare.h"
#include "cli/run/run_listener.h"
#include "cli/run/user_signals.h"
#include "cli/run/work_directory.h"
#include "common/result.h"

namespace caravan::cli {

// Of this process and those that it starts; before any other.
void prepare_environment();

Result<PreparedRun> prepare_on_this_machine(const LoadedJob& loaded, const RunOptions& options);

// The plan, and where logs and metrics are. lock_notice: of the checkpoints' lock, may be empty.
void introduce(const PreparedRun& run, const RunOptions& options, const std::string& lock_notice,
               const WorkDirectory& folder, Console& console);

// Keeps the folder of a job that fails. The folders of options are absolute paths here. listener: may be
// null.
Result<RunSummary> execute(const PreparedRun& run, const RunOptions& options, const UserSignals& signals,
                           WorkDirectory& folder, Console& console, RunListener* listener = nullptr);

}  // namespace caravan::cli
