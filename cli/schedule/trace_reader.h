// Reads what the ranks of a run executed (RankTrace files, proto/caravan/v1alpha1/trace.proto): for each
// stage the file of its rank that comes first along the tensor and the data axis.
//
// Pure but for `read`. Trusts nothing that it reads: sizes are bounded, ops have to form the schedule, and
// none may begin before what it needs was made, which files of different runs, or of machines whose clocks
// differ, say. Errors are bad input and name the file.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "cli/schedule/executed_schedule.h"
#include "common/result.h"

namespace caravan::cli {

inline constexpr int64_t kLargestTraceBytes = int64_t{64} << 20;  // many times those of the largest schedule

// The text of a file; its errors name the path.
using ReadFile = std::function<Result<std::string>(const std::string& path)>;

Result<ExecutedSchedule> read_traces(const std::string& folder, const ReadFile& read);

}  // namespace caravan::cli
