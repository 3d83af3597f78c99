// Reads what the ranks of a run executed (RankTrace files, proto/caravan/v1alpha1/trace.proto): for each
// stage the file of its rank that comes first along the tensor and the data axis.
//
// Pure but for `read`. Trusts nothing that it reads: sizes are bounded, ops have to form the schedule, and
// none may begin before what it needs was made, which files of different runs, or of machines whose clocks
// differ, say. Errors are bad input and name the file.
#pragma once

#include <string>

#include "cli/schedule/executed_schedule.h"
#include "cli/schedule/trace_text.h"
#include "common/result.h"

namespace caravan::cli {

Result<ExecutedSchedule> read_traces(const std::string& folder, const ReadFile& read);

}  // namespace caravan::cli
