// The folder of --trace, which every rank of a run writes its trace into.
#pragma once

#include <filesystem>
#include <string>

#include "common/result.h"

namespace caravan::cli {

// Makes the folder where it is absent, makes sure that files can be written into it, and removes the traces
// of these ranks that an earlier run left there, so that none is taken for one of this run. Gives its
// absolute path. Errors have exit code 2 and name --trace.
Result<std::filesystem::path> prepare_trace_directory(const std::string& given, int ranks);

}  // namespace caravan::cli
