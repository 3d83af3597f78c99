// How a program on the cluster runs and ends.
#pragma once

#include <functional>
#include <string>

#include "common/result.h"

namespace caravan {

// Runs the body with SIGINT and SIGTERM as a descriptor (common/process.h). Returns the exit code; what went
// wrong is logged. To be called before there is any thread, so that all of them leave the signals to the
// descriptor.
int run_program(const std::string& log_level, const std::function<Result<ExitCode>(int signal_fd)>& body);

// The process may be ending in order by then: the next signal does not wait for that.
void end_at_once_on_signal(int signal_fd);

}  // namespace caravan
