// The trace of one rank from its file (RankTrace, proto/caravan/v1alpha1/trace.proto). Errors are bad input
// and name the file.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "caravan/v1alpha1/trace.pb.h"
#include "common/result.h"

namespace caravan::cli {

// More than what a rank notes takes.
inline constexpr std::size_t kLargestTraceBytes = std::size_t{256} << 20;

// The text of a file; its errors name the path.
using ReadFile = std::function<Result<std::string>(const std::string& path)>;

// From the disk; refuses what is too large to be a trace.
Result<std::string> read_trace_file(const std::string& path);

Result<v1alpha1::RankTrace> read_trace(const std::string& path, const ReadFile& read);

// What is the same on all ranks of a run.
v1alpha1::TraceOrigin without_place(v1alpha1::TraceOrigin origin);

}  // namespace caravan::cli
