#include "cli/schedule/trace_text.h"

#include <fmt/format.h>

#include "common/file_contents.h"
#include "common/json.h"

namespace caravan::cli {

// The path has just been typed, so what cannot be read is bad input.
Result<std::string> read_trace_file(const std::string& path) {
  Result<std::string> text = file_within(path, kLargestTraceBytes);
  if (!text) return bad_input(text.error().message);
  return text;
}

Result<v1alpha1::RankTrace> read_trace(const std::string& path, const ReadFile& read) {
  const Result<std::string> text = read(path);
  if (!text) return tl::unexpected(text.error());
  Result<v1alpha1::RankTrace> trace = from_json<v1alpha1::RankTrace>(*text);
  if (!trace) return bad_input(fmt::format("{}: {}", path, trace.error().message));
  return trace;
}

v1alpha1::TraceOrigin without_place(v1alpha1::TraceOrigin origin) {
  origin.clear_rank();
  origin.clear_tensor_rank();
  origin.clear_data_rank();
  origin.clear_stage();
  return origin;
}

}  // namespace caravan::cli
